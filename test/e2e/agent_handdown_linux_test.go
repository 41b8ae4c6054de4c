package e2e_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// strict lets a client send one request an hour, and hands down who goes on.
const strict = `
kernel: {interfaces: [IFACE], max_sources: 4096}
listen: ["0.0.0.0:8080"]
upstream: ["http://127.0.0.1:9000"]
admin: {socket: DIR/admin.sock}
metrics: {listen: "127.0.0.1:9090"}
http:
  zones: {perip: {key: ip, rate: 1r/h}}
  rules: [{limits: [{zone: perip}]}]
handdown: {after: 3, within: 10s, action: block, for: 1h}
`

// dropped sends a packet of flooder at a time until one does not arrive, and returns how long that took.
func (s *site) awaitDropped() time.Duration {
	s.tb.Helper()
	began := time.Now()
	for s.passed(flooder, 1) > 0 {
		if time.Since(began) > pollLimit {
			s.tb.Fatal("packets of the offender still pass")
		}
	}
	return time.Since(began)
}

// Who is refused three times has its packets dropped, until the rule ends by the kernel's clock; the next rule holds
// twice as long. Nobody else loses a packet or a request.
func TestAgentHandsDown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	a := s.start(strings.Replace(strict, "for: 1h", "for: 3s", 1))
	for n, period := range []string{"3s", "6s"} {
		offender := s.browser(flooder)
		if want := 1 - n; offender.get("/").status == http.StatusOK != (want == 1) {
			t.Errorf("round %d begins with another status", n+1)
		}
		for range 3 - n { // the first request of the second round was refused, too
			if r := offender.get("/"); r.status != http.StatusTooManyRequests {
				t.Errorf("status %d", r.status)
			}
		}
		refused := time.Now()
		t.Logf("the first packet was dropped %v after the client had its third refusal", s.awaitDropped())
		s.wantPassed(flooder, 20, 0)
		rules := query[[]originRule](s.lab, "rules")
		if len(rules) != 1 || rules[0].Prefix != flooder+"/32" || rules[0].Origin != "handdown" || rules[0].Expires == nil {
			t.Fatalf("rules are %+v", rules)
		}
		s.wantPassed(modest, 20, 20)
		s.browser([]string{modest, third}[n]).wantStatuses(1, 1)
		await(t, "the rule's end", func() bool { return s.passed(flooder, 1) == 1 })
		t.Logf("a rule for %s held for %v", period, time.Since(refused))
		if got := query[[]originRule](s.lab, "rules"); len(got) != 0 {
			t.Errorf("rules are %+v", got)
		}
		a.awaitLine("handed down", flooder, "for="+period)
	}
	if got := s.metric("headgate_handdown_sources_total", `action="block"`); got != 2 {
		t.Errorf("headgate_handdown_sources_total is %v", got)
	}
}

// Whoever is handed down is free at the next packet where a command allows the network that he is in.
func TestAgentFreesWhoIsAllowed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	a := s.start(strict)
	s.browser(flooder).wantStatuses(4, 1)
	a.awaitLine("handed down", flooder)
	s.wantPassed(flooder, 20, 0)
	s.must("allow", "203.0.113.0/24").wantNote(t, "1 rule for an offender inside was lifted")
	s.wantPassed(flooder, 20, 20)
	if got := s.rulesByPrefix(); len(got) != 1 || got["203.0.113.0/24"] != "allow cli" {
		t.Errorf("rules are %v", got)
	}
}

// What the file says for good a command does not say for a while.
func TestAgentSaysWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("kernel: {interfaces: [IFACE], max_sources: 4096, rules: [{prefix: 203.0.113.0/24, block: true}]}\n")
	s.command("block", "203.0.113.0/24", "--for", "1m").run().wantError(t, 1, "block 203.0.113.0/24: nothing was changed: a rule of another origin")
	s.must("block", "203.0.113.0/24", modest, "--for", "1m").wantNote(t, "1 of 2 stay as they are")
	if got := s.rulesByPrefix(); len(got) != 2 || got["203.0.113.0/24"] != "block config" || got[modest+"/32"] != "block cli" {
		t.Errorf("rules are %v", got)
	}
}

// An allow rule and a dry run leave all packets alone, and the log says why there is no rule.
func TestAgentSparesOffenders(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	a := s.start(strict)
	s.must("allow", "203.0.113.0/24")
	s.browser(flooder).wantStatuses(5, 1)
	a.awaitLine("a source was not handed down", flooder, "an allow rule for 203.0.113.0/24 (cli)")
	s.wantPassed(flooder, 20, 20)

	a.reload(strings.Replace(strict, "for: 1h", "for: 1h, dry_run: true", 1))
	s.browser(modest).wantStatuses(5, 1)
	a.awaitLine(modest, "dry_run=true")
	s.wantPassed(modest, 20, 20)
	if got := s.rulesByPrefix(); len(got) != 1 || got["203.0.113.0/24"] != "allow cli" {
		t.Errorf("rules are %v", got)
	}
}

// With action limit the source keeps a trickle.
func TestAgentHandsDownToALimit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	s.start(strings.Replace(strict, "action: block, for: 1h", "action: limit, rate: 6pph, burst: 7, for: 1h", 1))
	offender := s.browser(flooder)
	offender.wantStatuses(4, 1)
	await(t, "a rule", func() bool { return s.rulesByPrefix()[flooder+"/32"] == "limit handdown" })
	if got := s.passed(flooder, 50); got > 7 {
		t.Errorf("%d packets passed, want at most 7", got)
	}
	s.wantPassed(flooder, 20, 0)
	s.wantPassed(neighbour, 20, 20)
}

// What programs report is handed down as what was refused.
func TestAgentReport(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.start(strict)
	for _, tt := range []struct{ args, says string }{
		{flooder + " --reason failed-login", "1 of 3"},
		{flooder + " --count 2 --reason failed-login", "handed down"},
		{"10.1.2.3 --count 5", "private"},
		{"203.0.113.1 --count 5", "own"},
	} {
		if r := s.must(append([]string{"report"}, strings.Fields(tt.args)...)...); !strings.Contains(r.stdout, tt.says) {
			t.Errorf("report %s says %q, want %q", tt.args, r.stdout, tt.says)
		}
	}
	s.wantPassed(flooder, 20, 0)
	s.wantPassed(neighbour, 20, 20)
	a.wantLines(1, "handed down", flooder, "failed-login")
	if got := s.rulesByPrefix(); len(got) != 1 {
		t.Errorf("rules are %v", got)
	}
}
