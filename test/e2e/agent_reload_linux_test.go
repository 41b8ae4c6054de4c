package e2e_test

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// both limits packets and requests, of which a client may send one an hour and burst more.
func both(burst, more string) string {
	return `
kernel: {interfaces: [IFACE], max_sources: 4096, policies: [{name: dns, proto: udp, port: 53, rate: 6pph, burst: 5}], rules: [` + more + `]}
listen: ["0.0.0.0:8080"]
upstream: ["http://127.0.0.1:9000"]
admin: {socket: DIR/admin.sock}
metrics: {listen: "127.0.0.1:9090"}
http:
  zones: {perip: {key: ip, rate: 1r/h}}
  rules: [{limits: [{zone: perip, burst: ` + burst + `, nodelay: true}]}]
`
}

// A broken file changes nothing, whatever is wrong with it, and the log says where in one line. A good one after it is taken.
func TestAgentReloadsBrokenFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	a := s.start(both("1", ""))
	s.wantPassed(flooder, 3, 3)
	for name, tt := range map[string]struct{ text, says string }{
		"a rate without unit":  {strings.Replace(both("9", ""), "6pph", "6pps6", 1), "headgate.yaml:2:"},
		"an unknown field":     {strings.Replace(both("9", ""), "nodelay", "nodely", 1), "headgate.yaml:9:"},
		"no YAML":              {both("9", "") + "}", "headgate.yaml:10:"},
		"an empty file":        {"", "is empty"},
		"no interface's name":  {strings.Replace(both("9", ""), "IFACE", "longer-than-it-can-be", 1), "is longer than"},
		"a socket that is not": {both("9", "") + "auth: {listen: [\"unix:DIR/no/such/s\"]}\n", "no/such"},
		"no such log":          {both("9", "") + "log: {file: DIR/no/such.log}\n", "no/such.log"},
	} {
		before := len(a.lines("was not reloaded"))
		s.configure(tt.text)
		a.signal(syscall.SIGHUP)
		await(t, name+" being refused", func() bool { return len(a.lines("was not reloaded", tt.says)) > 0 })
		s.command("reload").run().wantError(t, 1, "nothing was changed")
		if n := len(a.lines("was not reloaded")) - before; n > 3 { // by signal, by command, and as the file is watched
			t.Errorf("%s: %d lines tell of it", name, n)
		}
	}
	if err := os.Remove(s.path("headgate.yaml")); err != nil {
		t.Fatal(err)
	}
	a.awaitLine("was not reloaded", "no such file")
	s.wantPassed(flooder, 9, 2)
	s.browser(modest).wantStatuses(3, 2)
	if got := s.metric("headgate_config_last_reload_successful"); got != 0 {
		t.Errorf("headgate_config_last_reload_successful is %v", got)
	}
	a.reload(both("3", ""))
	s.wantPassed(flooder, 9, 0)
	s.browser(modest).wantStatuses(3, 2)
	if got := s.metric("headgate_config_last_reload_successful"); got != 1 {
		t.Errorf("headgate_config_last_reload_successful is %v", got)
	}
}

// Only what the file said before is replaced. What commands have set and what was handed down stays.
func TestAgentReloadsOwnRules(t *testing.T) {
	t.Parallel()
	const more = "handdown: {after: 1, within: 10s, action: block, for: 1h}\n"
	s := newSite(t)
	s.startBackend(nil)
	a := s.start(both("1", "{prefix: 192.168.1.0/24, block: true}, {prefix: 192.168.2.0/24, allow: true}") + more)
	s.must("block", "192.168.3.0/24")
	s.must("set", "192.168.4.0/24", "--rate", "5pps")
	s.must("report", flooder)
	a.reload(both("1", "{prefix: 192.168.2.0/24, block: true}, {prefix: 192.168.5.0/24, block: true}") + more)
	want := map[string]string{
		"192.168.2.0/24": "block config", "192.168.5.0/24": "block config", "192.168.3.0/24": "block cli",
		"192.168.4.0/24": "limit cli", flooder + "/32": "block handdown",
	}
	got := s.rulesByPrefix()
	for prefix, rule := range want {
		if got[prefix] != rule {
			t.Errorf("the rule of %s is %q, want %q", prefix, got[prefix], rule)
		}
	}
	if len(got) != len(want) {
		t.Errorf("rules are %v, want %v", got, want)
	}
	s.wantPassed(flooder, 5, 0)
}

// load is clients that send requests without a pause.
type load struct {
	stop    atomic.Bool
	sent    atomic.Int64
	clients sync.WaitGroup
}

// startLoad has n clients send requests until the load ends; each must get a 200. Every other client makes a connection
// for each.
func (s *site) startLoad(n int) *load {
	l := &load{}
	for i := range n {
		b := s.browser(modest)
		b.Transport.(*http.Transport).DisableKeepAlives = i%2 == 1
		l.clients.Go(func() {
			for !l.stop.Load() {
				r, err := b.try("/")
				if err != nil || r.status != http.StatusOK {
					s.tb.Errorf("a request failed: %v, %v", r, err)
					return
				}
				l.sent.Add(1)
			}
		})
	}
	s.tb.Cleanup(func() { l.end() })
	return l
}

// end waits for the requests under way, and returns how many were sent.
func (l *load) end() int64 {
	l.stop.Store(true)
	l.clients.Wait()
	return l.sent.Load()
}

// While the configuration changes under load, its listeners and servers too, no request fails and no packet beyond
// the limit passes; buckets and counters go on.
func TestAgentReloadsUnderLoad(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	texts := []string{
		both("1000000", ""),
		both("1000001", "{prefix: 10.0.0.0/8, block: true}") + "timeouts: {idle: 61s}\nauth: {listen: [\"unix:DIR/auth.sock\"]}\n",
		strings.Replace(both("1000000", ""), `upstream: ["http://127.0.0.1:9000"]`, `upstream: {servers: ["http://127.0.0.1:9000"], health: {path: /}}`, 1),
		strings.Replace(both("1000000", ""), "DIR/admin.sock}", "DIR/admin.sock, mode: 0660}", 1) + "log: {format: text, level: debug}\n",
	}
	a := s.start(texts[0])
	s.wantPassed(flooder, 9, 5)
	f := s.startFlood(udp(flooder))
	f.mark()
	load := s.startLoad(4)
	for n := range 12 {
		before := load.sent.Load()
		a.reload(texts[n%len(texts)])
		await(t, "requests going on", func() bool { return load.sent.Load() > before+30 || t.Failed() })
	}
	sent := load.end()
	f.wantPassed(0)
	f.end()
	if got := s.metric("headgate_http_zone_requests_total", `outcome="allowed"`); int64(got) != sent {
		t.Errorf("%v requests were counted, of %d", got, sent)
	}
	if dropped := s.metric("headgate_kernel_policy_packets_total", `policy="dns"`, `verdict="drop"`); dropped < 100 {
		t.Errorf("%v packets were counted as dropped", dropped)
	}
	if n := s.metric("headgate_upstream_failures_total"); n != 0 {
		t.Errorf("%v requests failed at the server", n)
	}
}

// A listener that the new file does not name is gone, a new one is there, and a kernel section that is gone leaves the
// limiter as it is, and says so.
func TestAgentReloadsSections(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	a := s.start(both("1", ""))
	s.wantPassed(flooder, 9, 5)
	a.reload(strings.Replace(serving, ":8080", ":8081", 1))
	a.awaitLine("the kernel section is gone")
	s.wantPassed(flooder, 9, 0)
	if r := s.local("8081").get("/"); r.status != http.StatusOK {
		t.Errorf("the new port answers %d", r.status)
	}
	await(t, "the old port being closed", func() bool {
		_, err := s.local(webPort).try("/")
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	a.reload(both("1", ""))
	s.wantPassed(flooder, 9, 0)
	if r := s.local(webPort).get("/"); r.status != http.StatusOK {
		t.Errorf("the old port answers %d again", r.status)
	}
}
