package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/limit"
)

// TestCase12ExplainRequest: which rules match a request and in which order its limits are asked is printed.
func TestCase12ExplainRequest(t *testing.T) {
	out, _ := outputOf(t, exitDone, checkedConfig, "explain", "-c", "-", "--ip", "203.0.113.9",
		"--method", "POST", "--host", "Example.com:8080", "--path", "/x/../login", "--header", "appid: 7")
	contains(t, out, "client  203.0.113.9 (untrusted peer)",
		"rule 1, health", "does not match", "rule 2, login", "matches; the rules below", "rule 3, other", "matches",
		"rule 4, behind", "matches, and is not looked at",
		"1. login, zone login", "key 203.0.113.9, /login", "2. other, zone perip", "3. other, zone app", "key 7", "4. other, zone slots",
		"the 3rd is refused with 503 by zone slots of other, and would pass when one of them has ended")
}

// TestCase18ExplainSaysWhoIsCharged: the client that a request is charged to, and why it is that one, is printed.
func TestCase18ExplainSaysWhoIsCharged(t *testing.T) {
	out, _ := outputOf(t, exitDone, checkedConfig, "explain", "-c", "-", "--ip", "10.0.0.1",
		"--header", "X-Forwarded-For: 198.51.100.1, 2001:db8::7", "--header", "x-forwarded-for: 10.0.0.2", "--path", "/x")
	contains(t, out, "client  2001:db8::7 (header)", "zone perip", "key 2001:db8::/64", "zone slots", "key 2001:db8::/48",
		"other, zone app: not asked, as the request lacks a part of the key")
}

// TestCase24ExplainSaysHowRulesStack: a rule with continue adds to those below, and one without ends.
func TestCase24ExplainSaysHowRulesStack(t *testing.T) {
	out, _ := outputOf(t, exitDone, checkedConfig, "explain", "-c", "-", "--ip", "203.0.113.9", "--path", "/health")
	contains(t, out, "matches, and has no limit", "No limit is asked: every such request passes.")
	out, _ = outputOf(t, exitDone, checkedConfig, "explain", "-c", "-", "--ip", "203.0.113.7", "--query", "a=1")
	contains(t, out, "1. other, zone perip (by an override)", "at one instant 21 requests of one ip, then one each 10ms")
	out, _ = outputOf(t, exitDone, checkedConfig, "explain", "-c", "-", "--ip", "203.0.113.8")
	contains(t, out, "other, zone perip: not asked, as the zone allows the key")
	out, _ = outputOf(t, exitDone, checkedConfig, "explain", "-c", "-", "--ip", "192.0.2.1")
	contains(t, out, "The client is allowed: no rule is asked")
	out, _ = outputOf(t, exitDone, checkedConfig, "explain", "-c", "-", "--ip", "unix:")
	contains(t, out, "client  unknown", "as the client is not known")
}

// TestExplainReadsFlagsAsTheFile: a method may be in lower case, and a Unix socket is unix as among trusted proxies.
func TestExplainReadsFlagsAsTheFile(t *testing.T) {
	out, _ := outputOf(t, exitDone, checkedConfig, "explain", "-c", "-", "--ip", "203.0.113.9",
		"--method", "post", "--host", "example.com", "--path", "/login")
	contains(t, out, "rule 2, login", "matches; the rules below")
	for _, ip := range []string{"unix", "unix:"} {
		out, _ = outputOf(t, exitDone, checkedConfig, "explain", "-c", "-", "--ip", ip, "--method", "options", "--path", "*")
		contains(t, out, "client  unknown")
	}
}

// TestExplainRequestAtOnce: how many pass at one instant is what the rules do.
func TestExplainRequestAtOnce(t *testing.T) {
	const config = `
http:
  zones: {a: {key: ip, rate: 10r/s}, b: {key: ip, rate: 1r/s}, c: {key: ip, rate: 1r/s}}
  rules:
    - {name: tried, continue: true, dry_run: true, limits: [{zone: b, burst: 1, nodelay: true}]}
    - {match: {path: /}, limits: [{zone: a, burst: 20, delay: 8}]}
    - {match: {path: /cost}, limits: [{zone: c, burst: 9, cost: 3, nodelay: true}]}
`
	out, _ := outputOf(t, exitDone, config, "explain", "-c", "-", "--ip", "::1")
	contains(t, out, "the 3rd is the first that tried (zone b) would hold up, but for its dry run",
		"the 10th is the first that waits, 100ms, by zone a of rule 2", "the 22nd is refused with 429 by zone a of rule 2, and would pass after 100ms")
	out, _ = outputOf(t, exitDone, config, "explain", "-c", "-", "--ip", "::1", "--path", "/cost")
	contains(t, out, "at one instant 3 requests of one ip, then one each 3s", "the 4th is refused with 429")
	out, _ = outputOf(t, exitDone, config, "explain", "-c", "-", "--ip", "::1", "--path", "/other")
	contains(t, out, "10000 requests pass, and perhaps more")
}

// TestCase32ExplainBurst: how many a burst admits, and which of them wait, is said for each algorithm.
func TestCase32ExplainBurst(t *testing.T) {
	for args, want := range map[string][]string{
		"10r/s --burst 20":           {"21 requests from an idle source, and no more\n", "burst=20 nodelay"},
		"10r/s --burst 20 --nodelay": {"21 requests from an idle source, and no more\n", "burst=20 nodelay"},
		"10r/s --burst 20 --delay 8": {"no more; from the 10th on they wait, up to 1.2s", "`limit_req burst=20 delay=8`"},
		"10r/s --burst 20 --delay 0": {"no more; from the 2nd on they wait, up to 2s", "`limit_req burst=20`: those N wait"},
		"7r/m --burst 3 --algorithm nginx": {
			"algorithm nginx", "4 requests from an idle source", "at most 10 requests", "0.116 requests a second, 0.57 % below", "cuts the rate off to 0.116r/s",
		},
		"3000r/s --algorithm nginx": { // and case 31
			"1 request every 1ms", "at most 1001 requests", "1000 requests a second, 67 % below", "at most burst+1 requests pass in each",
		},
		"60r/m --algorithm window":  {"60 requests from an idle source", "at most 120 requests", "twice the limit may pass within an instant: 120"},
		"60r/m --algorithm sliding": {"60 requests from an idle source", "at most 120 requests", "up to twice the limit may pass in some 1m"},
	} {
		out, _ := outputOf(t, exitDone, "", append([]string{"explain"}, strings.Fields(args)...)...)
		contains(t, out, want...)
	}
}

// What explain says of windows at most is what a window admits at the worst.
func TestExplainAgreesWithWindows(t *testing.T) {
	for _, tt := range []struct {
		count uint64
		per   time.Duration
	}{{3, time.Second}, {5, time.Minute}, {2, time.Hour}} {
		for _, period := range []time.Duration{time.Second, time.Minute, time.Hour} {
			w, err := limit.NewWindow(tt.count, tt.per)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := mostAdmitted(w, tt.per, period), mostInWindows(tt.count, tt.per, period); got != want {
				t.Errorf("%d per %v in %v: %d, said %d", tt.count, tt.per, period, got, want)
			}
		}
	}
}

// mostAdmitted begins a window with a request, sends the others when it ends, and counts what is admitted in the
// period that begins then.
func mostAdmitted(w limit.Window, per, period time.Duration) (n uint64) {
	var s limit.WindowState
	w.Take(&s, 1, 0)
	start := per - 1
	for now := start; now <= start+period; {
		if r := w.Take(&s, 1, now); r.Allowed {
			n++
		} else {
			now += r.RetryAfter
		}
	}
	return n + 1 // the first one could have come at start too, in a window that began with another
}

// Names of rules, keys and clients that a terminal would obey are quoted.
func TestExplainQuotes(t *testing.T) {
	out, _ := outputOf(t, exitDone, checkedConfig, "explain", "-c", "-", "--ip", "203.0.113.9", "--header", "appid: \x1b[31m")
	contains(t, out, fmt.Sprintf("key %q", "\x1b[31m"))
}
