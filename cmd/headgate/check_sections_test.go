package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckTellsSections: what each section does is told in words.
func TestCheckTellsSections(t *testing.T) {
	full, err := os.ReadFile("../../userspace/config/testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out, _ := outputOf(t, exitDone, string(full), "check", "-c", "-")
	contains(t, out,
		"kernel\n", "eth0, eth1.100; in the driver (native)", "IPv4 by /24, IPv6 by /56; beyond 2M those near their limit are dropped", "2MiB for sources that are far from their limit",
		"each source: 10kpps, burst 20k and 100Mbit/s, burst 1MB", "dns: udp packets to port 53, each source: 50pps, burst 100",
		"syn: packets that open a TCP connection to port 80 to 443, each source: 20pps, burst 20; where there is no room those near their limit pass", "ping: icmp packets of unverified sources, all together: 64KiB/s, burst 2kB; dry run",
		"10.0.0.0/8: all passes", "192.0.2.7: all is dropped", "in the place of the limit of policy dns: 30ppm, burst 1",
		"blocked.txt: all is dropped", "partners.txt: each source: 1Gbit/s", "dry run",
		"listen and upstream\n", "the unix socket /run/headgate/http.sock, mode 0666", "the socket headgate.socket of systemd",
		"[::]:8443, TLS by tls.crt, with the PROXY protocol from 127.0.0.1", "https://app.internal", "that of the server",
		"/healthz?deep=1 is asked for each 2s, for up to 500ms; left out after 2 bad in a row, taken back after 1 good", "header 5s, body 30s", "tunnels 10m",
		"auth\n", "nginx, Traefik, Caddy at", "/run/headgate/auth.sock, mode 0660, group www-data", "Envoy at", "127.0.0.1:8081, TLS by tls.crt", "::1, 127.0.0.2, and those on unix sockets", "edge",
		"handdown\n", "10 offences within 5s", "the kernel limits the /24 (IPv4) or /48 (IPv6) that it came from to 10pps, burst 20 and 64kbit/s",
		"2m, twice as long each time, up to 12h", "up to 10k rules", "as all others", "/var/log/nginx/error.log", "no rule is made",
		"adaptive\n", "percentile 99.9 of the answers takes longer than 200ms, looked at each 2s", "rates times 0.5; below 90 % of that, plus 10 %",
		"20 % to 150 % of the rates as written", "the kernel's default limit, those of zones", "nothing changes",
		"metrics\n", "127.0.0.1:9090: /metrics, /healthz and /readyz",
		"admin\n", "/run/headgate/admin.sock, mode 0660, group adm", "127.0.0.1:9091, for the token in token", "/debug/pprof",
		"log\n", "as json, from level debug on, to /var/log/headgate.log", "tracing\n", "50 % of the requests", "http\n", "client ")
}

// TestCheckWarnsOfMissingGroups: a group that this machine does not have is told, as the file may be meant for another one.
func TestCheckWarnsOfMissingGroups(t *testing.T) {
	for group, want := range map[string]bool{"no-such-group": true, "root": false, "4711": false} {
		out, _ := outputOf(t, exitDone, "metrics: {listen: {address: 'unix:/a', group: "+group+"}}", "check", "-c", "-")
		if got := strings.Contains(out, "warning: standard input: there is no group "+group+" on this machine"); got != want {
			t.Errorf("group %s: %s", group, out)
		}
	}
}

// TestCheckTellsDefaults: what applies where the file says nothing is told too.
func TestCheckTellsDefaults(t *testing.T) {
	for config, wants := range map[string][]string{
		"kernel: {interfaces: [eth0]}": {"in the driver if it can, else after it (auto)", "no room for more they are limited by estimates", "each source: no limit, packets are counted", "as text, from level info on, to standard error", "no HTTP limits"},
		"kernel: {interfaces: [eth0], mode: generic, overflow: pass, policies: [{name: a, port: 53, bandwidth: 1MB/s}]}":                        {"after the driver, slower (generic)", "those near their limit pass", "a: packets to port 53, each source: 8Mbit/s"},
		"{kernel: {interfaces: [eth0]}, handdown: {}, admin: {socket: /a}}":                                                                     {"20 offences within 10s", "the kernel drops all packets of the /32 (IPv4) or /64 (IPv6) that it came from", "spared", "/a, mode 0600"},
		"{listen: ':80', upstream: 'http://a'}":                                                                                                 {"requests at  :80", "as the client sent it", "servers are not asked"},
		"auth: {listen: 'unix:/a', gateways: []}":                                                                                               {"who may ask", "those on unix sockets"},
		"{listen: ':80', upstream: 'http://a', adaptive: {errors: 5%}, http: {zones: {a: {key: ip, rate: 1r/s}}}}":                              {"more than 5 % of the answers are 5xx", "those of zones"},
		"{listen: ':80', upstream: 'http://a', adaptive: {in_flight: 7}, http: {zones: {a: {key: ip, rate: 1r/s}}}}":                            {"more than 7 requests are under way"},
		"{kernel: {interfaces: [eth0], policies: [{name: a, unverified: true, key: shared, rate: 1pps}]}, listen: ':80', upstream: 'http://a'}": {"a: packets of unverified sources, all together: 1pps", "verified    who sent a request that was allowed, for 10m; who has a limit in rules"},
		"kernel: {interfaces: [eth0], verified_for: 0s, policies: [{name: a, unverified: true, key: shared, rate: 1pps}]}":                      {"verified    who has a limit in rules"},
		"log: {format: json}": {"as json, from level info on"},
		"kernel: {interfaces: [eth0], rules: [{prefix: [10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4, 10.0.0.5, 10.0.0.6, 10.0.0.7, 10.0.0.8, 10.0.0.9, 10.0.0.10, 10.0.0.11], block: true}]}": {"10.0.0.10: all is dropped", "and 1 more"},
	} {
		out, _ := outputOf(t, exitDone, config, "check", "-c", "-")
		contains(t, out, wants...)
	}
}

// TestCheckTellsSectionsInJSON: the same, for programs; a file with http alone has no other sections.
func TestCheckTellsSectionsInJSON(t *testing.T) {
	for config, want := range map[string]string{
		"metrics: {listen: '127.0.0.1:9090'}": `[{"name":"metrics","facts":[{"name":"served at","text":"127.0.0.1:9090: /metrics, /healthz and /readyz"}]},` +
			`{"name":"log","facts":[{"name":"written","text":"as text, from level info on, to standard error"}]}]`,
		"http: {}": `[]`,
	} {
		out, _ := outputOf(t, exitDone, config, "check", "-c", "-", "-o", "json")
		var got struct {
			InForce struct {
				Sections []struct {
					Name  string `json:"name"`
					Facts []struct {
						Name string `json:"name"`
						Text string `json:"text"`
					} `json:"facts"`
				} `json:"sections"`
			} `json:"in_force"`
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatal(err)
		}
		if text, err := json.Marshal(got.InForce.Sections); err != nil || string(text) != want {
			t.Errorf("%s: %s, %v, want %s", config, text, err, want)
		}
	}
}

// Files of the redis section that are not there are a warning, as the file may be meant for another machine; so is a password
// that everybody may read. Who is let in is said, and not by which password.
func TestCheckOfRedis(t *testing.T) {
	dir := t.TempDir()
	secret, open := filepath.Join(dir, "secret"), filepath.Join(dir, "open")
	for file, mode := range map[string]os.FileMode{secret: 0o640, open: 0o644} {
		if err := os.WriteFile(file, []byte("hunter2\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for section, want := range map[string][]string{
		`addrs: ["10.0.0.5:6379"]`: {"user             the default one, without a password\n", "tls              none: what is sent may be read"},
		`addrs: ["10.0.0.5:6379"], username: headgate, password_file: ` + secret: {"user             headgate, with the password in " + secret + "\n"},
		`addrs: ["10.0.0.5:6379"], password_file: ` + open:                       {"redis: password: everybody on this machine may read " + open + "; chmod o= " + open},
		`addrs: ["10.0.0.5:6379"], password_file: ` + dir + `/none`:              {"redis: password: open " + dir + "/none: no such file or directory"},
		`addrs: ["10.0.0.5:6379"], tls: {ca: ` + dir + `/ca}`:                    {"redis: tls: ca: open " + dir + "/ca: no such file or directory", "servers have certificates of " + dir + "/ca\n"},
		`addrs: ["10.0.0.5:6379"], tls: {ca: ` + secret + `}`:                    {"redis: tls: ca: " + secret + " has no certificate in PEM"},
		`mode: sentinel, master: m, addrs: ["10.0.0.5:26379"], sentinel_password_file: ` + open: {
			"of sentinels     the default one, with the password in " + open + "\n", "everybody on this machine may read " + open,
		},
	} {
		out, warnings := outputOf(t, exitDone, "redis: {"+section+"}", "check", "-c", "-")
		text := out + warnings
		if fine := strings.HasSuffix(section, "password_file: "+secret); fine && strings.Contains(text, "password: ") {
			t.Errorf("%s: %s", section, text)
		}
		for _, part := range want {
			if !strings.Contains(text, part) || strings.Contains(text, "hunter2") {
				t.Errorf("%s: %s; want %q", section, text, part)
			}
		}
	}
}
