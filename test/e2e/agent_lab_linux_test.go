package e2e_test

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/netlab/netlabtest"
	"github.com/headgate/headgate/test/packet"
	"github.com/headgate/headgate/userspace/admin"
)

// neighbour is a second client in the network of flooder.
const neighbour = "203.0.113.8"

// site is a lab whose host runs an agent. Clients are at the other end, each with an address of its own.
type site struct {
	*lab
	dir string // of the configuration, sockets and logs; everybody may read it
}

func newSite(tb testing.TB) *site {
	tb.Helper()
	pair := netlabtest.Pair(tb, netlab.PairOptions{
		NearAddrs: networks(flooder, neighbour, modest, third),
		FarAddrs:  networks("203.0.113.1", "198.51.100.1", target),
	})
	l := labCounting(tb, pair, filepath.Join(netlabtest.BPFFS(tb), "hg"), udpSource)
	dir, err := os.MkdirTemp("", "hg") // that of the test is too long for sockets
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	return &site{lab: l, dir: dir}
}

// udpSource leaves out what connections send.
func udpSource(frame []byte) (netip.Addr, bool) {
	const protocolAt = etherHeader + 9
	if len(frame) <= protocolAt || frame[protocolAt] != unix.IPPROTO_UDP {
		return netip.Addr{}, false
	}
	return packet.Source(frame)
}

func networks(addrs ...string) (all []netip.Prefix) {
	for _, a := range addrs {
		all = append(all, netip.PrefixFrom(addr(a), 24))
	}
	return all
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

// expand returns a configuration in which DIR stands for the site's directory, and IFACE for the interface that
// clients come by.
func (s *site) expand(text string) string {
	return strings.NewReplacer("DIR", s.dir, "IFACE", s.dev()).Replace(text)
}

// configure writes the configuration in one step.
func (s *site) configure(text string) {
	s.tb.Helper()
	file := s.path("headgate.yaml")
	if err := os.WriteFile(file+".new", []byte(s.expand(text)), 0o644); err != nil {
		s.tb.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		s.tb.Fatal(err)
	}
}

// command is that of the lab, for the site's agent.
func (s *site) command(args ...string) *command {
	return s.lab.command(args...).with("HEADGATE_SOCKET=" + s.path("admin.sock"))
}

// must runs a command that is to succeed, and returns what it wrote.
func (s *site) must(args ...string) result {
	s.tb.Helper()
	r := s.command(args...).run()
	if r.code != 0 {
		s.tb.Fatalf("headgate %s: exit %d: %s", strings.Join(args, " "), r.code, r.stderr)
	}
	return r
}

// agent is a process of `headgate run`, and what it logs.
type agent struct {
	*command
	site *site
	log  *transcript
}

// agent prepares an agent with the configuration that was written last.
func (s *site) agent() *agent {
	a := &agent{command: s.command("run", "-c", s.path("headgate.yaml")), site: s, log: &transcript{}}
	a.Stderr = a.log
	return a
}

// start starts an agent by a configuration, and waits until all of it is in force.
func (s *site) start(text string) *agent {
	s.tb.Helper()
	s.configure(text)
	a := s.agent()
	a.start()
	a.awaitInForce()
	return a
}

// awaitInForce waits until the agent has taken the configuration as it is now.
func (a *agent) awaitInForce() {
	a.site.tb.Helper()
	a.awaitTaken(0)
}

// taken returns how often the agent has taken the configuration as it is now.
func (a *agent) taken() int {
	a.site.tb.Helper()
	text, err := os.ReadFile(a.site.path("headgate.yaml"))
	if err != nil {
		a.site.tb.Fatal(err)
	}
	return len(a.lines("the configuration is in force", fmt.Sprintf("sha256=%x", sha256.Sum256(text))))
}

// awaitTaken waits until that has happened more than so many times.
func (a *agent) awaitTaken(before int) {
	a.site.tb.Helper()
	a.site.tb.Cleanup(func() {
		if a.site.tb.Failed() && a.taken() <= before {
			a.site.tb.Logf("the agent's log:\n%s", a.log)
		}
	})
	await(a.site.tb, "the configuration in force", func() bool {
		if a.ended() {
			a.site.tb.Fatalf("the agent has ended:\n%s", a.log)
		}
		return a.taken() > before
	})
}

// ended says whether the process is no more, or is one that nobody has waited for.
func (a *agent) ended() bool {
	stat, err := os.ReadFile(filepath.Join("/proc", itoa(a.Process.Pid), "stat"))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z")
}

// reload has the agent take another configuration, which it must.
func (a *agent) reload(text string) {
	a.site.tb.Helper()
	a.site.configure(text)
	before := a.taken()
	a.signal(syscall.SIGHUP)
	a.awaitTaken(before)
}

// stop ends the agent as systemd does, and returns its exit code.
func (a *agent) stop() int {
	a.site.tb.Helper()
	a.signal(syscall.SIGTERM)
	return a.wait().code
}

// kill9 ends the agent as the kernel does that needs its memory.
func (a *agent) kill9() {
	a.site.tb.Helper()
	a.signal(syscall.SIGKILL)
	if r := a.wait(); r.code != -1 {
		a.site.tb.Errorf("exit %d, want a signal", r.code)
	}
}

// lines returns those of the log that have all of the texts.
func (a *agent) lines(texts ...string) (found []string) {
	for line := range strings.Lines(a.log.String()) {
		has := true
		for _, text := range texts {
			has = has && strings.Contains(line, text)
		}
		if has {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// awaitLine waits for a line of the log that has all of the texts.
func (a *agent) awaitLine(texts ...string) {
	a.site.tb.Helper()
	await(a.site.tb, "a line of the log with "+strings.Join(texts, ", "), func() bool { return len(a.lines(texts...)) > 0 })
}

// wantLines checks how many lines of the log have all of the texts.
func (a *agent) wantLines(n int, texts ...string) {
	a.site.tb.Helper()
	if found := a.lines(texts...); len(found) != n {
		a.site.tb.Errorf("%d lines of the log have %q, want %d:\n%s", len(found), texts, n, a.log)
	}
}

// admin returns a client of the agent's API.
func (s *site) admin() *admin.Client {
	s.tb.Helper()
	c, err := admin.NewClient(s.path("admin.sock"), "")
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(c.Close)
	return c
}

// originRule is a rule as `headgate rules` shows it, with who made it.
type originRule struct {
	ruleJSON
	Origin  string
	Seconds *float64 `json:"expires_in_seconds"`
}

// rulesByPrefix returns the kernel's rules, as action and origin.
func (s *site) rulesByPrefix() map[string]string {
	s.tb.Helper()
	all := map[string]string{}
	for _, r := range query[[]originRule](s.lab, "rules") {
		all[r.Prefix] = r.Action + " " + r.Origin
	}
	return all
}

// passed sends n packets of a source, and returns how many arrived.
func (s *site) passed(source string, n int) int {
	s.tb.Helper()
	s.exchange() // forget what was sent before
	if err := s.sender.SendN(udp(source), n); err != nil {
		s.tb.Fatal(err)
	}
	return int(s.exchange()[addr(source)].Packets)
}

// wantPassed checks how many of n packets of a source pass.
func (s *site) wantPassed(source string, n, want int) {
	s.tb.Helper()
	if got := s.passed(source, n); got != want {
		s.tb.Errorf("%d of %d packets of %s passed, want %d", got, n, source, want)
	}
}
