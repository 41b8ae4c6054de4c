package handdown

import (
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
	"github.com/headgate/headgate/userspace/rate"
	"github.com/headgate/headgate/userspace/ruleset"
)

var errRefused = errors.New("the kernel refuses")

// Who exceeds his limit again and again is banned for a time: traefik/traefik#4803.
func TestCase70WhoExceedsIsBanned(t *testing.T) {
	run(t, Options{}, func(l *lab) {
		client := netip.MustParseAddr("203.0.113.7")
		refuse := func() {
			l.Observe(&ruleset.Request{Peer: client},
				&ruleset.Decision{Client: client, ClientFrom: "peer", Rule: "login", Zone: "perip", Status: 429})
			synctest.Wait()
		}
		refuse()
		refuse()
		l.wantBlocked()
		refuse()
		l.wantBlocked("203.0.113.7/32")
		for range 1000 { // under way
			refuse()
		}
		l.wantBlocked("203.0.113.7/32")
		c := l.Counters()
		if c.Offences[HTTP] != 1003 || c.Late != 1000 || c.HandedDown[config.Block] != 1 || c.Rules != 1 || c.MaxRules != 100 {
			t.Errorf("%+v", c)
		}
		want := event.Event{
			Time: time.Now(), Kind: event.HandedDown, Source: netip.MustParsePrefix("203.0.113.7/32"), Origin: "http",
			Rule: "login", Zone: "perip", Reason: "3 offences within 10s", For: 60,
		}
		if len(l.events) != 1 || l.events[0] != want {
			t.Errorf("%+v, want %+v", l.events, want)
		}
		l.wantLog("a source was handed down", 1)
		l.pass(time.Minute)
		if n := l.Counters().Rules; n != 0 {
			t.Errorf("%d rules after their end", n)
		}
		refuse()
		l.wantBlocked("203.0.113.7/32") // it begins anew
	})
}

// An offence counts until exactly `within` has passed.
func TestEdgeOfTheWindow(t *testing.T) {
	for gap, blocked := range map[time.Duration]bool{5*time.Second - time.Nanosecond: true, 5 * time.Second: false} {
		run(t, Options{}, func(l *lab) {
			l.offends("192.0.2.1", 1)
			l.pass(gap)
			l.offends("192.0.2.1", 1)
			l.pass(5 * time.Second)
			l.offends("192.0.2.1", 1)
			if got := len(l.kernel.blocked()) > 0; got != blocked {
				t.Errorf("gap %v: blocked %v", gap, got)
			}
		})
	}
}

func TestEscalation(t *testing.T) {
	run(t, Options{}, func(l *lab) {
		var got []time.Duration
		for range 6 {
			l.offends("192.0.2.1", 3)
			period := l.kernel.made[len(l.kernel.made)-1].For
			got = append(got, period)
			l.pass(period - time.Nanosecond)
			l.offends("192.0.2.1", 10)
			l.pass(time.Nanosecond)
		}
		want := []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute}
		if !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		l.pass(10*time.Minute - time.Nanosecond)
		l.offends("192.0.2.1", 3)
		l.pass(20 * time.Minute) // its rule's 10, and 10 without one
		l.offends("192.0.2.1", 3)
		if n := len(l.kernel.made); n != 8 || l.kernel.made[6].For != 10*time.Minute || l.kernel.made[7].For != time.Minute {
			t.Errorf("history is not forgotten at its time: %+v", l.kernel.made)
		}
	})
}

func TestNeverHit(t *testing.T) {
	o := Options{
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/28"), netip.MustParsePrefix("::ffff:203.0.113.8/128"), netip.MustParsePrefix("2001:db8:1::5/128")},
		Local:          func(a netip.Addr) bool { return a == netip.MustParseAddr("203.0.113.9") },
	}
	kernel := func() *fakeKernel {
		return &fakeKernel{protected: func(p netip.Prefix) string {
			if p.Overlaps(netip.MustParsePrefix("203.0.113.64/26")) {
				return "allow rule 203.0.113.64/26"
			}
			return ""
		}}
	}
	tests := map[string]Reason{
		"198.51.100.3": TrustedProxy, "203.0.113.8": TrustedProxy, "2001:db8:1::1": TrustedProxy, // of the same /64
		"203.0.113.9": Own, "203.0.113.70": Protected,
		"10.1.2.3": Private, "172.31.0.1": Private, "192.168.1.1": Private, "127.0.0.1": Private, "169.254.1.1": Private,
		"100.64.0.1": Private, "::1": Private, "fe80::1": Private, "fd00::1": Private, "::ffff:10.0.0.1": Private,
		"224.0.0.1": Unusual, "0.0.0.0": Unusual, "255.255.255.255": Unusual, "::": Unusual, "ff02::1": Unusual,
	}
	for addr, want := range tests {
		o.Kernel = kernel()
		run(t, o, func(l *lab) {
			l.offends(addr, 3)
			l.offends(addr, 7)
			l.wantBlocked()
			l.wantSpared(map[Reason]uint64{want: 10})
			l.wantLog("a source was not handed down", 1)
			if len(l.events) != 1 || l.events[0].Kind != event.Spared || !strings.HasPrefix(l.events[0].Reason, string(want)) {
				t.Errorf("%s: %+v", addr, l.events)
			}
			l.pass(time.Minute)
			l.offends(addr, 3)
			l.wantLog("a source was not handed down", 2)
		})
	}
	o.Kernel = kernel()
	o.Config = usual()
	o.Config.Private = true
	run(t, o, func(l *lab) {
		for _, addr := range []string{"10.1.2.3", "fe80::1", "fe80::2", "64:ff9b::c000:201", "64:ff9b:1::c000:201", "2001:0:c000:201::1", "::ffff:192.0.2.1", "2001:db8::1", "2001:db8::2"} {
			l.offends(addr, 3)
		}
		l.wantBlocked("10.1.2.3/32", "fe80::1/128", "fe80::2/128", "64:ff9b::c000:201/128", "64:ff9b:1::c000:201/128", "2001:0:c000:201::1/128", "192.0.2.1/32", "2001:db8::/64")
	})
	o.Kernel = kernel()
	o.Config = usual()
	o.Config.IPv4Prefix = 24
	run(t, o, func(l *lab) { // the neighbours of a source are hit with it
		for _, addr := range []string{"198.51.100.200", "203.0.113.1", "192.0.2.1"} {
			l.offends(addr, 3)
		}
		l.wantBlocked("192.0.2.0/24")
		l.wantSpared(map[Reason]uint64{TrustedProxy: 6})
	})
}

// A limit is for whole sources: the kernel would refuse one for a client of NAT64, and others with it.
func TestTranslatedAreNotLimited(t *testing.T) {
	c := usual()
	c.Action = config.Limit
	c.Limit = config.KernelLimit{Burst: 3}
	run(t, Options{Config: c}, func(l *lab) {
		l.offends("64:ff9b::c000:201", 3)
		l.wantBlocked()
		l.wantSpared(map[Reason]uint64{"translated": 3})
	})
	c.IPv6Prefix = 128
	run(t, Options{Config: c}, func(l *lab) {
		l.offends("64:ff9b::c000:201", 3)
		l.wantBlocked("64:ff9b::c000:201/128")
	})
}

func TestLimit(t *testing.T) {
	c := usual()
	c.Action = config.Limit
	c.Limit = config.KernelLimit{Rate: rate.Rate{}, Burst: 3}
	run(t, Options{Config: c}, func(l *lab) {
		l.offends("192.0.2.1", 3)
		want := Rule{Prefix: netip.MustParsePrefix("192.0.2.1/32"), Action: config.Limit, Limit: c.Limit, For: time.Minute}
		if len(l.kernel.made) != 1 || l.kernel.made[0] != want {
			t.Errorf("%+v", l.kernel.made)
		}
		if n := l.Counters().HandedDown[config.Limit]; n != 1 {
			t.Errorf("%d counted", n)
		}
	})
}

func TestDryRun(t *testing.T) {
	c := usual()
	c.DryRun = true
	run(t, Options{Config: c}, func(l *lab) {
		l.offends("192.0.2.1", 9)
		l.wantBlocked()
		l.wantLog("a source was handed down", 1)
		l.wantLog("dry_run=true", 1)
		if c := l.Counters(); c.HandedDown[config.Block] != 1 || c.Rules != 1 || c.Late != 6 {
			t.Errorf("%+v", c)
		}
		l.pass(time.Minute)
		l.offends("192.0.2.1", 3)
		if e := l.events[1]; e.For != 120 {
			t.Errorf("%+v", e)
		}
		c.DryRun = false
		l.SetConfig(c, nil)
		l.offends("192.0.2.1", 3) // what was tried is no history
		if len(l.kernel.made) != 1 || l.kernel.made[0].For != time.Minute {
			t.Errorf("%+v", l.kernel.made)
		}
	})
}

func TestRestart(t *testing.T) {
	k := &fakeKernel{}
	c := usual()
	c.MaxRules = 2
	run(t, Options{Kernel: k, Config: c}, func(l *lab) {
		l.offends("192.0.2.1", 3)
		l.pass(time.Minute)
		l.offends("192.0.2.1", 3) // for 2 minutes
		l.pass(time.Second)
		next := New(l.o)
		r := runner{HandDown: next}
		r.compare()
		if top := next.Top(5); len(top) != 1 || top[0].Strikes != 2 || top[0].Left != 119*time.Second {
			t.Errorf("%+v", top)
		}
		if n := next.Counters().Rules; n != 1 {
			t.Errorf("%d rules", n)
		}
	})
}

// A rule that somebody has removed is none, and the source begins anew.
func TestRemovedByHand(t *testing.T) {
	k := &fakeKernel{}
	c := usual()
	c.For, c.Max = time.Hour, time.Hour
	run(t, Options{Kernel: k, Config: c}, func(l *lab) {
		l.offends("192.0.2.1", 3)
		k.change(func() { clear(k.rules) })
		l.pass(compareEvery)
		if n := l.Counters().Rules; n != 0 {
			t.Errorf("%d rules", n)
		}
		l.offends("192.0.2.1", 3)
		l.wantBlocked("192.0.2.1/32", "192.0.2.1/32")
	})
}

func TestReload(t *testing.T) {
	run(t, Options{}, func(l *lab) {
		l.offends("192.0.2.1", 2)
		l.offends("192.0.2.2", 3)
		l.offends("10.0.0.1", 3)
		c := usual()
		c.After, c.Private = 5, true
		l.SetConfig(c, nil)
		l.offends("192.0.2.1", 2)
		l.offends("192.0.2.2", 9)
		l.offends("10.0.0.1", 4)
		l.wantBlocked("192.0.2.2/32")
		l.offends("192.0.2.1", 1)
		l.offends("10.0.0.1", 1)
		l.wantBlocked("192.0.2.2/32", "192.0.2.1/32", "10.0.0.1/32")
		c.After = 1
		l.SetConfig(c, []netip.Prefix{netip.MustParsePrefix("192.0.2.9/32")})
		l.offends("192.0.2.9", 1)
		l.offends("192.0.2.8", 1)
		l.wantBlocked("192.0.2.2/32", "192.0.2.1/32", "10.0.0.1/32", "192.0.2.8/32")
	})
}

func TestTop(t *testing.T) {
	run(t, Options{}, func(l *lab) {
		l.offends("192.0.2.1", 1)
		l.offends("192.0.2.2", 2)
		l.offends("192.0.2.3", 3)
		l.offends("10.0.0.1", 3)
		got := l.Top(3)
		want := []Offender{
			{Source: netip.MustParsePrefix("192.0.2.3/32"), Strikes: 1, Origin: HTTP, Left: time.Minute},
			{Source: netip.MustParsePrefix("192.0.2.2/32"), Offences: 2, Origin: HTTP},
			{Source: netip.MustParsePrefix("192.0.2.1/32"), Offences: 1, Origin: HTTP},
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
		if n := len(l.Top(100)); n != 4 {
			t.Errorf("%d in all, want 4", n)
		}
		if got := l.Top(-1); got != nil {
			t.Errorf("%v", got)
		}
	})
}

// Every label is there from the start.
func TestCountersAreClosedSets(t *testing.T) {
	c := New(Options{Config: usual(), Kernel: &fakeKernel{}}).Counters()
	if !slices.Equal(slices.Sorted(maps.Keys(c.Spared)), slices.Sorted(slices.Values(Reasons()))) ||
		len(c.Offences) != len(Origins()) || len(c.HandedDown) != 2 || len(Reasons()) != reasons || len(Origins()) != origins {
		t.Errorf("%+v", c)
	}
}
