package handdown

import (
	"math"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// sharing returns options whose rules are shared with a list.
func sharing(c config.HandDown, k *fakeKernel, shared *[]Rule) Options {
	return Options{Config: c, Kernel: k, Share: func(rules []Rule) { *shared = append(*shared, rules...) }}
}

// What was made is shared once: not what the kernel refused, and not what had its rule before this process.
func TestMadeRulesAreShared(t *testing.T) {
	k, shared := &fakeKernel{}, []Rule(nil)
	old := Rule{Prefix: netip.MustParsePrefix("192.0.2.9/32"), Action: config.Block, For: time.Minute}
	k.rules = map[netip.Prefix]fakeRule{old.Prefix: {old, time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC)}} // a bubble begins in 2000
	run(t, sharing(usual(), k, &shared), func(l *lab) {
		l.offends("192.0.2.9", 6)
		k.change(func() { k.err = errRefused })
		l.offends("192.0.2.1", 3)
		if len(shared) > 0 {
			t.Errorf("shared what was not made: %v", shared)
		}
		k.change(func() { k.err = nil })
		l.pass(mostWait)
		l.offends("192.0.2.1", 6) // under way
		l.offends("2001:db8::1", 3)
		l.pass(time.Minute)
		l.offends("192.0.2.1", 3) // again, for longer
		if !slices.Equal(shared, k.made) {
			t.Fatalf("shared %v, want %v", shared, k.made)
		}
		l.wantBlocked("192.0.2.1/32", "2001:db8::/64", "192.0.2.1/32")
		if shared[2].For != 2*time.Minute {
			t.Errorf("shared for %s", shared[2].For)
		}
	})
}

// A dry run makes nothing, and so shares nothing.
func TestDryRunIsNotShared(t *testing.T) {
	c, shared := usual(), []Rule(nil)
	c.DryRun = true
	run(t, sharing(c, &fakeKernel{}, &shared), func(l *lab) {
		l.offends("192.0.2.1", 3)
		l.wantLog("a source was handed down", 1)
		if len(shared) > 0 {
			t.Errorf("shared %v", shared)
		}
	})
}

// Whom the fleet blocks already is not handed down once more, so that nothing goes round; its offences count again when the
// fleet's rule is gone. That was none of its strikes.
func TestFleetsOffenderIsNotHandedDownAgain(t *testing.T) {
	k, shared := &fakeKernel{}, []Rule(nil)
	k.fleet = Rule{Prefix: netip.MustParsePrefix("192.0.2.1/32"), Action: config.Block, For: math.MaxInt64}
	run(t, sharing(usual(), k, &shared), func(l *lab) {
		l.offends("192.0.2.1", 9)
		o, err := l.Report(t.Context(), k.fleet.Prefix, Report, "", 3)
		if err != nil || o.Result != HandedDown || o.For > 10*time.Minute || o.For <= 9*time.Minute {
			t.Errorf("%+v, %v", o, err)
		}
		l.wantBlocked()
		k.change(func() { k.fleet = Rule{} })
		l.pass(mostDoubt)
		l.offends("192.0.2.1", 1) // has it looked at
		l.offends("192.0.2.1", 3)
		l.wantBlocked("192.0.2.1/32")
		if len(shared) != 1 || shared[0].For != time.Minute {
			t.Errorf("shared %v", shared)
		}
	})
}

// A limit of the fleet is less than a block that is wanted here, and as much as a limit.
func TestFleetsLimit(t *testing.T) {
	for action, want := range map[config.Action][]string{config.Block: {"192.0.2.1/32"}, config.Limit: {}} {
		c, k := usual(), &fakeKernel{}
		c.Action = action
		k.fleet = Rule{Prefix: netip.MustParsePrefix("192.0.2.1/32"), Action: config.Limit, For: time.Hour}
		run(t, Options{Config: c, Kernel: k}, func(l *lab) {
			l.offends("192.0.2.1", 3)
			l.wantBlocked(want...)
		})
	}
}
