package plane

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/change"
	"github.com/headgate/headgate/cmd/headgate/internal/lockout"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/test/packet"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/handdown"
)

// Everything of a kernel section is in force after Apply, and only that after the next one.
func TestApply(t *testing.T) {
	l := newLab(t)
	list := filepath.Join(t.TempDir(), "list")
	l.must(os.WriteFile(list, []byte("192.0.2.66 # a comment\n2001:db8:66::/48\n"), 0o600))
	l.apply(
		defaultLimit(10), policy("dns", 53, 3),
		rules(block("198.51.100.0/24"), allow("198.51.100.20/32"), limited("203.0.113.8/32", "dns", 1)),
		func(k *config.Kernel) { k.RuleFiles = []config.RuleFile{{Path: list, Action: config.Block}} },
	)
	l.wantRules("block 192.0.2.66/32 config", "block 198.51.100.0/24 config", "allow 198.51.100.20/32 config",
		"limit 203.0.113.8/32 config", "block 2001:db8:66::/48 config")
	l.wantPassed(flooder, 80, 20, 10)
	l.wantPassed("203.0.113.9", 53, 20, 3)
	l.wantPassed("203.0.113.8", 53, 20, 1)
	l.wantPassed(modest, 80, 20, 20)
	l.wantPassed("198.51.100.21", 80, 20, 0)
	l.wantPassed("192.0.2.66", 80, 20, 0)
	program := l.programOn(l.pair.Far.Name)

	// A bucket stays as it was where its limit did, and so do counters.
	l.apply(defaultLimit(10), rules(block("203.0.113.9/32")))
	l.wantRules("block 203.0.113.9/32 config")
	l.wantPassed(flooder, 80, 20, 0)
	l.wantPassed("203.0.113.9", 80, 20, 0)
	l.wantPassed("198.51.100.21", 53, 20, 10)
	policies, err := l.plane.Policies()
	l.must(err)
	if len(policies) != 1 || policies[0].Name != "default" || policies[0].Burst != 10 || policies[0].Drop.Packets == 0 {
		t.Errorf("policies %+v", policies)
	}
	if now := l.programOn(l.pair.Far.Name); now != program || now == 0 {
		t.Errorf("program %d, want still %d", now, program)
	}
}

// Rules and policies that commands made stay, and go first.
func TestApplyLeavesOthers(t *testing.T) {
	l := newLab(t)
	l.apply(policy("dns", 53, 3), policy("ntp", 123, 3))
	l.cli(func(i *loader.Instance) error {
		c, err := i.Policies().Load()
		if err != nil {
			return err
		}
		made, err := policyOf(config.Policy{Name: "mine", Proto: "udp", Protocol: 17, FirstPort: 99, LastPort: 99, Limit: limitTo(1)})
		if err := cmp.Or(err, change.SetPolicy(i, &c, made)); err != nil {
			return err
		}
		if err := i.Policies().Store(c); err != nil {
			return err
		}
		mine, _ := c.Policy("mine")
		_, err = i.Rules().SetAll([]rulemap.Rule{
			{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Action: rulemap.Block, Until: rulemap.Forever},
			{Prefix: netip.MustParsePrefix("203.0.113.7/32"), Action: rulemap.Limit, Until: rulemap.Forever, Limit: wireTo(2), PolicyID: mine.ID()},
		}, nil)
		return err
	})
	l.must(l.host.Do(func() error { return l.plane.Enforce(nil) }))
	before := l.state()

	l.apply(policy("dns", 53, 3), rules(limited("203.0.113.7/32", "", 5), allow("10.0.0.0/8")))
	l.wantRules("allow 10.0.0.0/8 config", "block 10.0.0.0/8 cli", "limit 203.0.113.7/32 cli")
	if got := policyNamesOf(l.state().Config); got != "default dns mine" {
		t.Errorf("policies %s", got)
	}
	if !strings.Contains(l.log.String(), "rules of the file are left out, as others hold there") {
		t.Error("nothing is said about the rule that is left out")
	}
	l.apply(policy("dns", 53, 3), policy("ntp", 123, 3))
	l.wantRules("block 10.0.0.0/8 cli", "limit 203.0.113.7/32 cli")
	after := l.state()
	for _, name := range []string{"default", "dns", "mine"} {
		was, _ := before.Config.Policy(name)
		is, _ := after.Config.Policy(name)
		if was.ID() != is.ID() || was.Limit != is.Limit || was.FromConfig != is.FromConfig {
			t.Errorf("%s was %+v and is %+v", name, was, is)
		}
	}

	// An agent that was started since knows what is its own.
	l.restart()
	l.apply()
	if got := policyNamesOf(l.state().Config); got != "default mine" {
		t.Errorf("policies %s", got)
	}
}

func policyNamesOf(c policymap.Config) string {
	var names []string
	for _, p := range c.Policies {
		names = append(names, p.Name)
	}
	return strings.Join(names, " ")
}

// Policies may change places: there is no moment at which both match the same.
func TestApplySwapsPolicies(t *testing.T) {
	l := newLab(t)
	l.apply(policy("a", 53, 3), policy("b", 80, 5))
	l.wantPassed(flooder, 53, 9, 3)
	l.apply(policy("a", 80, 3), policy("b", 53, 5))
	l.wantPassed(modest, 53, 9, 5)
	l.wantPassed(modest, 80, 9, 3)
}

// What fails on the way is taken back as a whole, the first time and later.
func TestApplyOrNothing(t *testing.T) {
	l := newLab(t)
	const loopback = "lo" // of the namespace; its driver has no XDP of its own
	both := func(k *config.Kernel) {
		k.Interfaces, k.Mode = []string{l.pair.Far.Name, loopback}, config.ModeNative
	}
	if err := l.tryApply(l.kernel(both, defaultLimit(10))); err == nil || !strings.Contains(err.Error(), "attach to lo") {
		t.Fatalf("error %v, want that it cannot attach to lo", err)
	}
	if _, err := os.Stat(l.dir); err == nil {
		t.Errorf("%s is left", l.dir)
	}

	second := l.second("eth7")
	l.apply(interfacesNamed(l.pair.Far.Name, second.Far.Name), defaultLimit(10), policy("dns", 53, 3), rules(block("10.0.0.0/8"), allow("10.1.0.0/16")))
	l.must(l.host.Do(func() error { return l.plane.Enforce([]handdown.Rule{offender("203.0.113.7/32")}) }))
	before := l.state()
	err := l.tryApply(l.kernel(both, defaultLimit(20), policy("ntp", 123, 3), rules(block("10.1.0.0/16"), block("203.0.113.7/32"), limited("10.0.0.0/8", "ntp", 3))))
	if err == nil {
		t.Fatal("no error")
	}
	l.wantState(before)
	l.wantPassed("203.0.113.8", 80, 30, 10)
}

// All that Apply refuses Check refuses too, in the same words, and neither changes anything.
func TestRefusals(t *testing.T) {
	l := newLab(t)
	list := filepath.Join(t.TempDir(), "list")
	l.must(os.WriteFile(list, []byte("10.0.0.1\nx\n"), 0o600))
	l.peers = []lockout.Peer{{Addr: netip.MustParseAddr("192.0.2.254"), What: "a default gateway"}}
	tests := []struct {
		name   string
		change []func(*config.Kernel)
		want   string
		exists bool // refused only beside what there is
	}{
		{"gateway blocked", []func(*config.Kernel){rules(block("192.0.2.0/24"))}, "blocking 192.0.2.0/24 would cut off 192.0.2.254, a default gateway; nothing was changed; an allow rule", false},
		{"gateway limited", []func(*config.Kernel){defaultLimit(10)}, "a limit of 6pph, burst 10 (policy default) would cut off", false},
		{"part of a source", []func(*config.Kernel){rules(limited("2001:db8::1/128", "", 5))}, "2001:db8::1/128 is a part of one: limit 2001:db8::/64, or make sources of 128 bits by ipv6_prefix", false},
		{"no policy", []func(*config.Kernel){rules(limited("10.0.0.0/8", "web", 5))}, `no such policy: "web"`, false},
		{"two limits", []func(*config.Kernel){policy("web", 80, 3), rules(limited("10.0.0.0/8", "", 5), limited("10.0.0.0/8", "web", 5))}, "10.0.0.0/8 has another limit already, of line 0", false},
		{"policies alike", []func(*config.Kernel){policy("a", 80, 3), policy("b", 80, 3)}, "matches the same packets exists", false},
		{"too many policies", manyPolicies(), "no room for another policy", false},
		{"a wrong list", []func(*config.Kernel){func(k *config.Kernel) { k.RuleFiles = []config.RuleFile{{Path: list, Action: config.Block}} }}, "list:2: prefix \"x\"", false},
		{"a list that is no file", []func(*config.Kernel){func(k *config.Kernel) { k.RuleFiles = []config.RuleFile{{Path: os.DevNull, Action: config.Block}} }}, "is no regular file", false},
		{"no list", []func(*config.Kernel){func(k *config.Kernel) { k.RuleFiles = []config.RuleFile{{Path: list + "2", Action: config.Block}} }}, "read the list", false},
		{"long prefix", []func(*config.Kernel){func(k *config.Kernel) { k.IPv6Prefix = 128 }}, "was made for at most 64 bits", true},
		{"another mode", []func(*config.Kernel){func(k *config.Kernel) { k.Mode = config.ModeGeneric }}, "is attached in native mode; `headgate detach far0` first", true},
		{"policy in use", nil, `the file does not have the policy any more, but policy "dns" has a limit of its own for 203.0.113.0/24`, true},
		{"shorter sources", []func(*config.Kernel){func(k *config.Kernel) { k.IPv4Prefix = 16 }}, "203.0.113.0/24 is a part of one", true},
	}
	refuse := func(exists bool) {
		for _, tt := range tests {
			if tt.exists && !exists {
				continue
			}
			if exists && tt.change != nil {
				tt.change = append(tt.change, policy("dns", 53, 3))
			}
			for what, err := range map[string]error{"Check": l.check(tt.change...), "Apply": l.tryApply(l.kernel(tt.change...))} {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s: %s: %v; want %q", tt.name, what, err, tt.want)
				}
			}
		}
	}
	refuse(false)
	if _, err := os.Stat(l.dir); err == nil {
		t.Fatalf("%s is there", l.dir)
	}
	l.apply(policy("dns", 53, 3))
	l.cli(func(i *loader.Instance) error {
		c, err := i.Policies().Load()
		dns, _ := c.Policy("dns")
		return firstOf(err, func() error {
			return i.Rules().Set(rulemap.Rule{Prefix: netip.MustParsePrefix("203.0.113.0/24"), Action: rulemap.Limit, Until: rulemap.Forever, Limit: wireTo(2), PolicyID: dns.ID()})
		})
	})
	before := l.state()
	refuse(true)
	l.wantState(before)
	// An allow rule is the way out.
	for _, ok := range [][]func(*config.Kernel){
		{policy("dns", 53, 3), rules(block("192.0.2.0/24"), allow("192.0.2.254/32"))},
		{policy("dns", 53, 3), rules(block("192.0.2.0/24")), func(k *config.Kernel) { k.DryRun = true }},
	} {
		l.must(l.check(ok...))
	}
}

func firstOf(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}

func manyPolicies() (all []func(*config.Kernel)) {
	for n := range policymap.MaxPolicies {
		all = append(all, policy(fmt.Sprint("p", n), uint16(100+n), 5))
	}
	return all
}

// A trial by hand is not interfered with.
func TestApplyDuringTrial(t *testing.T) {
	l := newLab(t)
	l.apply()
	l.cli(func(i *loader.Instance) error {
		c, err := i.Policies().Load()
		c.ValidUntil = bootTime() + uint64(time.Hour)
		return firstOf(err, func() error { return i.Policies().Store(c) })
	})
	before := l.state()
	if err := l.tryApply(l.kernel(defaultLimit(5))); err == nil || !strings.Contains(err.Error(), "on trial") {
		t.Errorf("error %v", err)
	}
	l.wantState(before)
}

// The default limit is scaled, and what of its burst a source has used stays the same share.
// No packet goes through an interface to which it is attached before the limits are there.
func TestLimitsComeBeforeTheInterfaces(t *testing.T) {
	l := newLab(t)
	frame := packet.UDPFrame(flooder, target, 80, 18)
	stop := make(chan struct{})
	sent := make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			select {
			case <-stop:
				sent <- nil
				return
			default:
				err = l.sender.SendN(frame, 100)
			}
		}
		sent <- err
	}()
	l.apply(defaultLimit(10))
	close(stop)
	l.must(<-sent)
	for _, r := range l.snapshot().Reasons {
		if r.Reason == "no_policy" && r.Packets > 0 {
			t.Errorf("%d packets went through an attached interface without limits", r.Packets)
		}
	}
}

func TestScale(t *testing.T) {
	l := newLab(t)
	l.apply(func(k *config.Kernel) { k.Default = limitTo(10); k.Default.Rate.Count = 600 }, policy("dns", 53, 3))
	l.wantPassed(flooder, 80, 20, 10)
	wantRate := func(want string) {
		t.Helper()
		s := l.state()
		p, _ := s.Config.Policy("default")
		if got := p.Limit.String(); got != want {
			t.Errorf("limit %s, want %s", got, want)
		}
	}
	l.must(l.plane.Scale(0.5))
	wantRate("5ppm, burst 5")
	l.wantPassed(flooder, 80, 20, 0)
	l.apply(func(k *config.Kernel) { k.Default = limitTo(10); k.Default.Rate.Count = 1200 })
	wantRate("10ppm, burst 5")
	l.must(l.plane.Scale(1))
	wantRate("20ppm, burst 10")
	for _, factor := range []float64{0, -1, math.NaN()} {
		if err := l.plane.Scale(factor); err == nil {
			t.Errorf("no error for the factor %v", factor)
		}
	}
}
