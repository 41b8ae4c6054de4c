package handdown

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

func TestMaxRules(t *testing.T) {
	c := usual()
	c.MaxRules = 2
	run(t, Options{Config: c}, func(l *lab) {
		for i := range 9 {
			l.offends(fmt.Sprintf("192.0.2.%d", i), 3)
		}
		l.wantBlocked("192.0.2.0/32", "192.0.2.1/32")
		l.wantSpared(map[Reason]uint64{Full: 21})
		l.wantLog("as many sources are handed down", 1)
		l.pass(time.Minute)
		l.offends("192.0.2.7", 3)
		l.wantBlocked("192.0.2.0/32", "192.0.2.1/32", "192.0.2.7/32")
	})
}

func TestKernelFailsAndRecovers(t *testing.T) {
	k := &fakeKernel{}
	run(t, Options{Kernel: k}, func(l *lab) {
		k.change(func() { k.err = errRefused })
		for i := range 9 {
			l.offends(fmt.Sprintf("192.0.2.%d", i), 3)
			l.pass(time.Second)
		}
		l.wantBlocked()
		l.wantLog("no rule for offenders", 1)
		k.change(func() { k.err = nil })
		l.pass(mostWait)
		if got := l.kernel.blocked(); len(got) != 9 {
			t.Errorf("%v", got)
		}
		l.wantLog("takes rules for offenders again", 1)
		k.change(func() { k.err = errRefused })
		l.offends("192.0.2.100", 3)
		l.pass(2 * time.Minute)
		k.change(func() { k.err = nil })
		l.pass(mostWait)
		if got := l.kernel.blocked(); len(got) != 9 {
			t.Errorf("one was handed down when his rule would have ended: %v", got)
		}
		l.wantSpared(map[Reason]uint64{Failed: 3})
	})
}

// One rule that is refused does not hold up the others.
func TestPoison(t *testing.T) {
	k := &fakeKernel{refuses: func(r Rule) bool { return r.Prefix.Addr() == netip.MustParseAddr("192.0.2.5") }}
	run(t, Options{Kernel: k}, func(l *lab) {
		k.busy = make(chan struct{})
		for i := range 30 {
			for range 3 {
				l.Offend(Offence{Addr: netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), Origin: HTTP})
			}
		}
		close(k.busy)
		l.pass(2 * time.Minute)
		if got := l.kernel.blocked(); len(got) != 29 {
			t.Errorf("%d of 29: %v", len(got), got)
		}
		l.wantSpared(map[Reason]uint64{Failed: 3})
	})
}

// There are no more rules than allowed, also where many are made in one call.
func TestMaxRulesOfOneCall(t *testing.T) {
	c, k := usual(), &fakeKernel{}
	c.MaxRules = 5
	run(t, Options{Config: c, Kernel: k}, func(l *lab) {
		k.busy = make(chan struct{})
		for i := range 20 {
			l.offends(fmt.Sprintf("192.0.2.%d", i), 3)
		}
		close(k.busy)
		synctest.Wait()
		if k.calls != 2 || len(k.made) != 5 {
			t.Errorf("%d rules in %d calls, want 5 in 2", len(k.made), k.calls)
		}
	})
}

// While a call is under way others wait, and are made in one.
func TestBatches(t *testing.T) {
	k := &fakeKernel{}
	run(t, Options{Kernel: k}, func(l *lab) {
		k.busy = make(chan struct{})
		for i := range 50 {
			l.offends(fmt.Sprintf("192.0.2.%d", i), 3)
		}
		close(k.busy)
		synctest.Wait()
		if k.calls != 2 || len(k.made) != 50 {
			t.Errorf("%d rules in %d calls, want 50 in 2", len(k.made), k.calls)
		}
	})
}

func TestQueueIsBounded(t *testing.T) {
	k := &fakeKernel{}
	run(t, Options{Kernel: k, MaxWaiting: 5}, func(l *lab) {
		k.busy = make(chan struct{})
		for i := range 20 {
			l.offends(fmt.Sprintf("192.0.2.%d", i), 3)
		}
		if n := l.Counters().Lost; n == 0 || n > 15 {
			t.Errorf("%d lost", n)
		}
		close(k.busy)
		synctest.Wait()
		for i := range 20 {
			l.offends(fmt.Sprintf("192.0.2.%d", i), 1) // one more is enough
		}
		if n := len(k.made); n != 20 {
			t.Errorf("%d of 20 handed down", n)
		}
	})
}

// A rule for the network that this machine is in would hit its gateway and its neighbours: offenders there get one each.
func TestNeighboursAreHitOneByOne(t *testing.T) {
	networks := []netip.Prefix{netip.MustParsePrefix("2001:db8:5::/64"), netip.MustParsePrefix("2001:db8:6::1/128"), netip.MustParsePrefix("198.51.100.0/25")}
	o := Options{Config: usual(), Near: func(p netip.Prefix) bool { return overlaps(p, networks) }}
	o.Config.IPv4Prefix = 24
	o.Kernel = &fakeKernel{}
	run(t, o, func(l *lab) {
		for _, addr := range []string{"2001:db8:5::7", "2001:db8:5::8", "2001:db8:6::7", "2001:db8:7::7", "198.51.100.200", "203.0.113.7"} {
			l.offends(addr, 3)
		}
		l.wantBlocked("2001:db8:5::7/128", "2001:db8:5::8/128", "2001:db8:6::7/128", "2001:db8:7::/64", "198.51.100.200/32", "203.0.113.0/24")
		_, err := l.Report(t.Context(), networks[0], Report, "", 1)
		if err == nil || !strings.Contains(err.Error(), "prefixes of /128 or longer") {
			t.Errorf("report of the whole network: %v", err)
		}
	})
	o.Config.Action = config.Limit
	o.Kernel = &fakeKernel{}
	run(t, o, func(l *lab) {
		l.offends("2001:db8:5::7", 3)
		l.offends("2001:db8:7::7", 3)
		l.wantBlocked("2001:db8:7::/64")
		l.wantSpared(map[Reason]uint64{Neighbour: 3})
	})
}
