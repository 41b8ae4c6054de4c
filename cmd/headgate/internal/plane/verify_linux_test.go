package plane

import (
	"net/netip"
	"testing"
	"time"

	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/handdown"
)

// strangers is a policy that all unverified sources share.
func strangers(packets uint64) func(*config.Kernel) {
	return func(k *config.Kernel) {
		k.Policies = append(k.Policies, config.Policy{Name: "strangers", Shared: true, Unverified: true, Limit: limitTo(packets)})
	}
}

func (l *lab) verified(addr string) bool {
	l.Helper()
	var has bool
	l.must(l.plane.reading(func(i *loader.Instance) (err error) {
		config, err := i.Policies().Load()
		if err != nil {
			return err
		}
		has, err = i.Verified().Has(config.Cut(netip.MustParseAddr(addr)), wire.BootTime())
		return err
	}))
	return has
}

// Who is verified is not under a limit for all unverified sources, at the next packet.
func TestVerify(t *testing.T) {
	l := newLab(t)
	l.apply(strangers(5))
	l.wantPassed(flooder, 80, 20, 5)
	l.wantPassed(modest, 80, 20, 0)
	l.must(l.plane.Verify([]netip.Addr{netip.MustParseAddr(modest), netip.MustParseAddr("2001:db8::1")}, time.Hour))
	l.wantPassed(modest, 80, 20, 20)
	l.wantPassed(flooder, 80, 20, 0)
	snapshot, err := l.plane.Snapshot()
	if err != nil || snapshot.Verified != 2 {
		t.Errorf("%d are verified, %v; want 2", snapshot.Verified, err)
	}
	for addr, want := range map[string]bool{modest: true, flooder: false, "2001:db8::2": true, "2001:db8:0:1::": false} {
		if got := l.verified(addr); got != want {
			t.Errorf("%s is verified: %t", addr, got)
		}
	}
	l.restart()
	l.wantPassed(modest, 80, 20, 20) // it is the kernel that knows
}

// An offender proves anew who he is: his rule ends what he has proved.
func TestOffendersAreUnverified(t *testing.T) {
	l := newLab(t)
	l.apply(strangers(5))
	sources := []string{flooder, "203.0.113.8", "2001:db8::1", modest}
	var addrs []netip.Addr
	for _, source := range sources {
		addrs = append(addrs, netip.MustParseAddr(source))
	}
	l.must(l.plane.Verify(addrs, time.Hour))
	limit := offender("203.0.113.8/32")
	limit.Action, limit.Limit = config.Limit, limitTo(100)
	l.must(l.plane.Enforce([]handdown.Rule{offender(flooder + "/32"), limit, offender("2001:db8::/64")}))
	for n, source := range sources {
		if got, want := l.verified(source), n == 3; got != want {
			t.Errorf("%s is verified: %t", source, got)
		}
	}
	l.wantPassed("203.0.113.8", 80, 20, 5)
	l.must(l.plane.Verify(addrs, time.Hour)) // his limit is not one that people have set
	l.wantPassed("203.0.113.8", 80, 20, 0)
	l.wantPassed(modest, 80, 20, 20)
}

// What a rule is for may be longer than what makes a source.
func TestOffendersInWideSources(t *testing.T) {
	l := newLab(t)
	l.apply(strangers(5), func(k *config.Kernel) { k.IPv4Prefix, k.IPv6Prefix = 24, 48 })
	for rule, neighbour := range map[string]string{flooder + "/32": "203.0.113.200", "2001:db8:0:7::/64": "2001:db8:0:8::1"} {
		l.must(l.plane.Verify([]netip.Addr{netip.MustParseAddr(neighbour)}, time.Hour))
		if !l.verified(neighbour) {
			t.Errorf("%s is not verified", neighbour)
		}
		l.must(l.plane.Enforce([]handdown.Rule{offender(rule)}))
		if l.verified(neighbour) {
			t.Errorf("%s, of the source that %s is for, is still verified", neighbour, rule)
		}
	}
}
