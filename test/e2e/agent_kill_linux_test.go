package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/admin"
)

// limitedKernel lets five packets of a source pass, and serves on the host itself.
const limitedKernel = `
kernel: {interfaces: [IFACE], max_sources: 4096, default: {rate: 6pph, burst: 5}}
listen: ["127.0.0.1:8080"]
upstream: ["http://127.0.0.1:9000"]
admin: {socket: DIR/admin.sock}
`

// agentKills is how often an agent is killed in a test, each time at another moment.
const agentKills = 8

// strikeBy runs a command and sends it a signal at a random moment; it returns false where the command was faster.
func (k *killer) strikeBy(c *command, signal syscall.Signal) bool {
	c.lab.tb.Helper()
	c.start()
	time.Sleep(time.Duration(k.Int64N(int64(k.most))))
	sent := c.Process.Signal(signal) == nil
	c.wait()
	return sent
}

// serves checks that an agent has all of its sockets open.
func (s *site) wantServes() {
	s.tb.Helper()
	if r := s.local(webPort).get("/"); r.status != http.StatusOK {
		s.tb.Errorf("the proxy answers %d: %s", r.status, r.body)
	}
	if _, err := s.admin().Status(s.tb.Context()); err != nil {
		s.tb.Error(err)
	}
}

// A first start that is killed leaves a whole limiter or none, and nothing in the way of the next one.
func TestAgentKilledAtFirstStart(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	s.configure(limitedKernel)
	k := newKiller(t, duration(func() { s.start(limitedKernel).kill9() }))
	for n := range agentKills {
		s.must("detach", "--all")
		k.strikeBy(s.agent().command, syscall.SIGKILL)
		a := s.start(limitedKernel)
		s.wantServes()
		s.wantPassed(fmt.Sprintf("203.0.113.%d", n+20), 20, 5)
		a.kill9()
		s.wantPassed(fmt.Sprintf("203.0.113.%d", n+120), 20, 5)
	}
}

// While an agent is killed as it starts, again and again, and while it is restarted, the limit holds without a gap: of the whole flood no more
// passes than the burst.
func TestAgentKilledAtStart(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	k := newKiller(t, duration(func() { s.start(limitedKernel).kill9() }))
	f := s.startFlood(udp(flooder))
	stop := s.watchProgram()
	for range agentKills {
		k.strikeBy(s.agent().command, syscall.SIGKILL)
	}
	for range 2 { // as an upgrade does it
		a := s.start(limitedKernel)
		s.wantServes()
		if code := a.stop(); code != 0 {
			t.Errorf("exit %d:\n%s", code, a.log)
		}
	}
	if asked, none := stop(); asked == 0 || none > 0 {
		t.Errorf("no program on the interface in %d of %d looks", none, asked)
	}
	f.wantPassed(5)
}

// wantPassed checks how many of flooder's packets have passed since the last mark, of at least a hundred.
func (f *flood) wantPassed(want uint64) {
	f.l.tb.Helper()
	sent, arrived := f.mark()
	if got := arrived[addr(flooder)].Packets; got != want || sent < 100 {
		f.l.tb.Errorf("%d of %d packets passed, want %d", got, sent, want)
	}
}

// An agent that is killed while it reloads leaves what was or what is to be. Rules of the file that is in force then
// are all there, the limit has no gap, and what others have set stays.
func TestAgentKilledAtReload(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	variants := []string{
		limitedKernel + "metrics: {listen: \"127.0.0.1:9090\"}\n",
		`
kernel:
  interfaces: [IFACE]
  default: {rate: 6pph, burst: 5}
  policies: [{name: dns, proto: udp, port: 53, rate: 6pph, burst: 5}]
  rules: [{prefix: 10.0.0.0/8, block: true}, {prefix: 10.1.0.0/16, allow: true}]
listen: ["127.0.0.1:8080"]
upstream: ["http://127.0.0.1:9000"]
admin: {socket: DIR/admin.sock}
`,
	}
	a := s.start(variants[0])
	s.must("block", "192.168.0.0/16")
	s.wantPassed(flooder, 20, 5)
	k := newKiller(t, duration(func() { a.reload(variants[1]) }))
	f := s.startFlood(udp(flooder))
	for n := range agentKills {
		s.configure(variants[n%2])
		a.signal(syscall.SIGHUP)
		time.Sleep(time.Duration(k.Int64N(int64(k.most))))
		a.kill9()
		a = s.start(variants[n%2])
		s.wantServes()
		want := map[string]string{"192.168.0.0/16": "block cli"}
		if n%2 == 1 {
			want["10.0.0.0/8"], want["10.1.0.0/16"] = "block config", "allow config"
		}
		if got := s.rulesByPrefix(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("rules are %v, want %v", got, want)
		}
	}
	f.wantPassed(0)
}

// What an agent has said to be handed down is in force after it is killed, and the next one knows.
func TestAgentKilledAtHandDown(t *testing.T) {
	t.Parallel()
	const text = `
kernel: {interfaces: [IFACE], max_sources: 4096}
handdown: {after: 1, within: 10s, action: block, for: 1h}
admin: {socket: DIR/admin.sock}
metrics: {listen: "127.0.0.1:9090"}
`
	s := newSite(t)
	a := s.start(text)
	if r := s.must("report", flooder); len(r.stdout) == 0 {
		t.Error("report says nothing")
	}
	f := s.startFlood(udp(flooder))
	f.mark()
	k := newKiller(t, 200*time.Millisecond)
	acknowledged := []string{flooder}
	for n := range agentKills {
		told := s.reportAll(fmt.Sprintf("198.51.%d.", n))
		time.Sleep(time.Duration(k.Int64N(int64(k.most))))
		a.kill9()
		all := told()
		acknowledged = append(acknowledged, all...)
		a = s.start(text)
	}
	rules := s.rulesByPrefix()
	for _, source := range acknowledged {
		if got := rules[source+"/32"]; got != "block handdown" {
			t.Errorf("the rule of %s is %q", source, got)
		}
	}
	t.Logf("%d reports were acknowledged; %d rules", len(acknowledged), len(rules))
	f.wantPassed(0)
	if got := s.metric("headgate_handdown_rules"); got != float64(len(rules)) {
		t.Errorf("the agent knows %v rules of %d", got, len(rules))
	}
}

// reportAll reports one source after the other to the agent, until that does not answer any more. told waits for that,
// and returns those that it said to have handed down.
func (s *site) reportAll(prefix string) (told func() []string) {
	s.tb.Helper()
	c := s.admin()
	var all []string
	var reporting sync.WaitGroup
	reporting.Go(func() {
		for n := range 255 {
			source := prefix + itoa(n)
			o, err := c.Report(context.Background(), admin.ReportBody{Prefix: netip.MustParseAddr(source).String(), Count: 1})
			if err != nil {
				return
			}
			if o.Outcome == "handed_down" {
				all = append(all, source)
			}
		}
	})
	return func() []string { reporting.Wait(); return all }
}
