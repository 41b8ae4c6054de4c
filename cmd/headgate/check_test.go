package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

const checkedConfig = `
http:
  client_ip: {header: X-Forwarded-For, trusted_proxies: [10.0.0.0/8, unix]}
  allow: [192.0.2.0/24]
  headers: off
  zones:
    perip:  {key: ip, rate: 10r/s, overrides: [{value: 203.0.113.7, rate: 100r/s}], allow: [203.0.113.8]}
    login:  {key: [ip, path], rate: 5r/m, max_keys: 10k}
    app:    {key: "header:appid", rate: 60r/m, algorithm: window}
    all:    {key: "const:all", rate: 7r/m, algorithm: nginx}
    slots:  {key: ip, concurrent: 2, ipv6_prefix: 48}
  rules:
    - {name: health, match: {path: /health}, limits: []}
    - name: login
      match: {host: example.com, path: /login, method: [POST]}
      continue: true
      limits: [{zone: login, burst: 5, nodelay: true}]
    - {name: other, limits: [{zone: perip, burst: 20, delay: 8}, {zone: app}, {zone: slots}], status: 503}
    - {name: behind, limits: [{zone: all}], dry_run: true}
`

// outputOf runs a command that has a configuration on standard input.
func outputOf(t *testing.T, code int, config string, args ...string) (out, message string) {
	t.Helper()
	c := newConsole()
	c.stdin = strings.NewReader(config)
	if got := c.run(t, args...); got != code {
		t.Errorf("%v: exit %d, want %d: %s", args, got, code, c.err.String())
	}
	return c.out.String(), c.err.String()
}

// contains checks that texts are in s, in this order.
func contains(t *testing.T, s string, texts ...string) {
	t.Helper()
	rest := s
	for _, text := range texts {
		_, behind, found := strings.Cut(rest, text)
		if !found {
			t.Errorf("%q is not there, or not in this place, in\n%s", text, s)
			return
		}
		rest = behind
	}
}

// TestCase17CheckSaysWhatLimitsMean: what a rate and a burst let pass stands there in plain words.
func TestCase17CheckSaysWhatLimitsMean(t *testing.T) {
	out, _ := outputOf(t, exitDone, checkedConfig, "check", "-c", "-")
	contains(t, out,
		"the first value from the right of X-Forwarded-For that is none of the trusted proxies 10.0.0.0/8, unix",
		"never limited  192.0.2.0/24", "none (off)",
		"login: at one instant 6 requests of one ip and path, then one each 12s",
		"refused with 429; the rules below are looked at too",
		"perip: at one instant 21 requests of one ip, then one each 100ms; from the 10th on they wait for their turn",
		"203.0.113.7: one each 10ms",
		"app: 60 requests of one header Appid in 1m, which begins with the first; twice as many",
		"slots: 2 requests of one ip under way at a time",
		"refused with 503",
		"all: 1 request of all together each 8.621s", // as nginx keeps 7r/m
		"dry run")
}

// TestCase12CheckSaysTheOrder: zones are listed as they are asked, by the order of the file alone.
func TestCase12CheckSaysTheOrder(t *testing.T) {
	out, _ := outputOf(t, exitDone, checkedConfig, "check", "-c", "-")
	contains(t, out, "looked at from the top, and the first that matches decides", "rule 1, health: path /health", "no limit",
		"rule 2, login", "- login:", "rule 3, other", "- perip:", "- app:", "- slots:")
}

// TestCase20CheckSaysAllOrNone: what one limit refuses costs nothing in the others.
func TestCase20CheckSaysAllOrNone(t *testing.T) {
	out, _ := outputOf(t, exitDone, checkedConfig, "check", "-c", "-")
	contains(t, out, "charged to all limits that it is asked about or to none")
}

const sharedConfig = `
redis: {addrs: "127.0.0.1:6379", name: edge-1}
http:
  zones:
    perip: {key: ip, rate: 60r/m, store: redis, lease: 5, overrides: [{value: 203.0.113.7, rate: 10r/s}]}
    login: {key: ip, rate: 5r/m, algorithm: window, store: redis, lease: 2}
    slots: {key: ip, concurrent: 10, store: redis}
    mine:  {key: ip, rate: 1r/s}
  rules:
    - {match: {path: /login}, limits: [{zone: login}], on_store_failure: closed, continue: true}
    - {match: {path: /slow}, limits: [{zone: slots}], on_store_failure: open, continue: true}
    - {limits: [{zone: perip, burst: 20, nodelay: true}, {zone: mine}]}
`

// TestCase36CheckSaysWhatMachinesAdmitTogether: what a limit in Redis lets pass over all machines, and what without Redis.
func TestCase36CheckSaysWhatMachinesAdmitTogether(t *testing.T) {
	out, _ := outputOf(t, exitDone, sharedConfig, "check", "-c", "-", "--processes", "4")
	contains(t, out,
		"redis", "127.0.0.1:6379, database 0", "20ms at most; 1024 of them at a time", "edge-1",
		"leaky, in redis", "window, in redis", "concurrent, in redis",
		"- login:", "5r/m over all machines; while Redis does not answer, all are refused with 503", "refused with 429",
		"- slots:", "10 at a time over all machines; while Redis does not answer, all pass",
		"- perip:", "60r/m over all machines and up to 5 more for each, as leases; while Redis does not answer, each admits 60r/m divided by the number of machines",
		"- mine:", "4 processes together: at one instant 4 requests")
	out, _ = outputOf(t, exitDone, sharedConfig, "check", "-c", "-")
	contains(t, out, "What is not in redis each process counts for itself")
	out, _ = outputOf(t, exitDone, strings.Replace(sharedConfig, ", {zone: mine}", "", 1), "check", "-c", "-")
	if strings.Contains(out, "process counts for itself") {
		t.Errorf("all limits are shared, and it says\n%s", out)
	}
}

// TestCase36ExplainSaysWhatMachinesAdmitTogether: likewise of one request, by the rate that its key has.
func TestCase36ExplainSaysWhatMachinesAdmitTogether(t *testing.T) {
	out, _ := outputOf(t, exitDone, sharedConfig, "explain", "-c", "-", "--ip", "203.0.113.7", "--path", "/login")
	contains(t, out,
		"zone login", "5r/m over all machines; while Redis does not answer, all are refused with 503",
		"zone perip", "10r/s over all machines and up to 5 more for each, as leases; while Redis does not answer, each admits 10r/s divided by the number of machines")
}

// TestCase36CheckSaysWhatProcessesAdmitTogether: limits are of each process, and that is said with numbers.
func TestCase36CheckSaysWhatProcessesAdmitTogether(t *testing.T) {
	out, _ := outputOf(t, exitDone, checkedConfig, "check", "-c", "-")
	contains(t, out, "Each process counts for itself: behind N of them a client may have N times as much")
	out, _ = outputOf(t, exitDone, checkedConfig, "check", "-c", "-", "--processes", "4")
	contains(t, out, "- perip:", "4 processes together: at one instant 84 requests, then one each 25ms",
		"- app:", "4 processes together: 240 requests in 1m", "- slots:", "4 processes together: 8 requests at a time")
}

// TestCheckTellsOverrides: JSON has all of them, with what the file says.
func TestCheckTellsOverrides(t *testing.T) {
	const config = `
http:
  zones:
    a: {key: [ip, "header:appid"], rate: 1r/s, overrides: [{value: [192.0.2.0/24, gold], rate: 3r/s}]}
    b: {key: ip, concurrent: 2, overrides: [{value: "::1", concurrent: 7}]}
    c: {key: ip, rate: 1r/s}
  rules: [{limits: [{zone: a}, {zone: b}, {zone: c}]}]
`
	out, _ := outputOf(t, exitDone, config, "check", "-c", "-")
	contains(t, out, "192.0.2.0/24, gold: one each 333.3ms", "::/64: 7 requests under way at a time")
	out, _ = outputOf(t, exitDone, config, "check", "-c", "-", "-o", "json")
	var got struct {
		InForce struct {
			Zones []struct{ Overrides json.RawMessage }
		} `json:"in_force"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{`[{"value":"192.0.2.0/24, gold","rate":"3r/s"}]`, `[{"value":"::/64","concurrent":7}]`, `[]`} {
		var compact bytes.Buffer
		if err := json.Compact(&compact, got.InForce.Zones[i].Overrides); err != nil || compact.String() != want {
			t.Errorf("%s, %v, want %s", compact.String(), err, want)
		}
	}
}

// TestCheckWarns: what is doubtful is printed, and no failure.
func TestCheckWarns(t *testing.T) {
	out, message := outputOf(t, exitDone, checkedConfig, "check", "-c", "-")
	contains(t, out, "warning: standard input:", "never looked at", "client ")
	if message != "" {
		t.Errorf("errors %q", message)
	}
}

// TestCheckTellsAllErrors, more than an error message does, and in JSON as in words.
func TestCheckTellsAllErrors(t *testing.T) {
	const wrong = 30
	config := "http:\n  zones:\n" + strings.Repeat("    a: {key: ip, rate: 10r/s}\n", wrong+1)
	out, message := outputOf(t, exitFailed, config, "check", "-c", "-")
	if n := strings.Count(out, "\n"); n != wrong || !strings.HasPrefix(out, "standard input:4:5: http.zones") {
		t.Errorf("%d lines, want %d:\n%s", n, wrong, out)
	}
	if want := "headgate: standard input: 30 errors\n"; message != want {
		t.Errorf("%q, want %q", message, want)
	}
	out, _ = outputOf(t, exitFailed, config, "check", "-c", "-", "-o", "json")
	var got struct {
		Valid  bool
		Errors []struct {
			File, Path, Text string
			Line, Column     int
		}
		InForce any `json:"in_force"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if first := got.Errors[0]; got.Valid || len(got.Errors) != wrong || first.Line != 4 || first.Column != 5 || first.Text == "" || got.InForce != nil {
		t.Errorf("%+v", got)
	}
}

func TestClientWords(t *testing.T) {
	for config, want := range map[string]string{
		"": "the address of the TCP peer; IPv4 by /32, IPv6 by /64",
		"header: X-Forwarded-For, hops: 2, ipv4_prefix: 24":                                            "value 2 from the right of X-Forwarded-For, of every peer; IPv4 by /24, IPv6 by /64",
		"header: X-Real-IP, hops: 1, trusted_proxies: [10.0.0.1]":                                      "value 1 from the right of X-Real-IP, of the peers 10.0.0.1; of others their own address",
		"header: Forwarded, trusted_proxies: [10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4, 10.0.0.5, unix]": "trusted proxies 10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4, and 2 more;",
	} {
		file := "http: {client_ip: {" + config + "}, zones: {a: {key: ip, rate: 1r/s}}, rules: [{limits: [{zone: a}]}]}"
		out, _ := outputOf(t, exitDone, file, "check", "-c", "-")
		contains(t, out, want)
	}
	for style, want := range map[string]string{
		"draft10": "RateLimit and RateLimit-Policy", "polli": "RateLimit-Limit, -Remaining", "x-ratelimit": "X-RateLimit-Limit", "x-rate-limit": "X-Rate-Limit-Limit",
	} {
		out, _ := outputOf(t, exitDone, "http: {headers: "+style+", zones: {a: {key: ip, rate: 1r/s}}, rules: [{limits: [{zone: a}]}]}", "check", "-c", "-")
		contains(t, out, want)
	}
}
