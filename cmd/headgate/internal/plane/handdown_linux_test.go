package plane

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/headgate/headgate/cmd/headgate/internal/lockout"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/handdown"
)

// Offenders' rules are in force when Enforce returns, and never take the place of others.
func TestEnforce(t *testing.T) {
	l := newLab(t)
	l.apply(defaultLimit(10), rules(block("198.51.100.0/24"), limited("192.0.2.99/32", "", 7)))
	l.cli(func(i *loader.Instance) error {
		return i.Rules().Set(rulemap.Rule{Prefix: netip.MustParsePrefix("203.0.113.9/32"), Action: rulemap.Block, Until: rulemap.Forever})
	})
	l.must(l.plane.Enforce([]handdown.Rule{
		offender("203.0.113.7/32"),
		offender("203.0.113.9/32"),
		offender("198.51.100.0/24"),
		{Prefix: netip.MustParsePrefix("203.0.113.8/32"), Action: config.Limit, Limit: limitTo(2), For: time.Hour},
		{Prefix: netip.MustParsePrefix("192.0.2.99/32"), Action: config.Limit, Limit: limitTo(2), For: time.Hour},
	}))
	l.wantRules("limit 192.0.2.99/32 config", "block 198.51.100.0/24 config",
		"block 203.0.113.7/32 handdown", "limit 203.0.113.8/32 handdown", "block 203.0.113.9/32 cli")
	l.wantPassed("203.0.113.7", 80, 20, 0)
	l.wantPassed("203.0.113.8", 80, 20, 2)

	// They stay over an Apply and a restart, and are found again.
	l.restart()
	l.apply(defaultLimit(10))
	held, err := l.plane.HandedDown()
	l.must(err)
	if len(held) != 2 {
		t.Fatalf("handed down: %+v", held)
	}
	slices.SortFunc(held, func(a, b handdown.Rule) int { return a.Prefix.Addr().Compare(b.Prefix.Addr()) })
	for n, want := range []string{"203.0.113.7/32 block", "203.0.113.8/32 limit"} {
		r := held[n]
		if got := r.Prefix.String() + " " + string(r.Action); got != want || r.For <= 59*time.Minute || r.For > time.Hour {
			t.Errorf("%s for %s, want %s", got, r.For, want)
		}
	}
	if held[1].Limit != limitTo(2) {
		t.Errorf("limit %+v", held[1].Limit)
	}
}

// Whether an offender is still blocked or limited is told of the very prefix.
func TestEnforced(t *testing.T) {
	l := newLab(t)
	l.apply(defaultLimit(10), rules(limited("192.0.2.99/32", "", 7), allow("192.0.2.5/32")))
	l.must(l.plane.Enforce([]handdown.Rule{offender("203.0.113.7/32"), offender("192.0.2.99/32")}))
	want := func(prefix string, want bool) {
		t.Helper()
		got, err := l.plane.Enforced(netip.MustParsePrefix(prefix))
		l.must(err)
		if got != want {
			t.Errorf("%s: %t, want %t", prefix, got, want)
		}
	}
	want("203.0.113.7/32", true)
	want("203.0.113.0/24", false)
	want("192.0.2.99/32", true) // the file's limit
	want("192.0.2.5/32", false)
	l.cli(func(i *loader.Instance) error {
		_, err := i.Rules().Unset([]netip.Prefix{netip.MustParsePrefix("203.0.113.7/32")})
		return err
	})
	want("203.0.113.7/32", false)
}

// All or none.
func TestEnforceRefuses(t *testing.T) {
	l := newLab(t)
	l.apply()
	for want, r := range map[string]handdown.Rule{
		"an offender is blocked or limited": {Prefix: netip.MustParsePrefix("10.0.0.1/32"), Action: config.Allow, For: time.Hour},
		"is a part of one":                  {Prefix: netip.MustParsePrefix("2001:db8::1/128"), Action: config.Limit, Limit: limitTo(2), For: time.Hour},
		"packet limit":                      {Prefix: netip.MustParsePrefix("10.0.0.1/32"), Action: config.Limit, Limit: config.KernelLimit{Rate: limitTo(1).Rate, Burst: 1 << 63}, For: time.Hour},
	} {
		err := l.plane.Enforce([]handdown.Rule{offender("10.0.0.2/32"), r})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	l.wantRules()
}

// Whoever allows a network frees the sources in it that were handed down, by whatever way that is said.
func TestAllowFreesOffenders(t *testing.T) {
	network := netip.MustParsePrefix("203.0.113.0/24")
	ways := map[string]func(*lab){
		"file": func(l *lab) { l.apply(rules(allow(network.String()))) },
		"API":  func(l *lab) { l.must(l.plane.SetRule(config.PrefixRule{Prefix: network, Action: config.Allow}, 0)) },
	}
	for way, set := range ways {
		t.Run(way, func(t *testing.T) {
			l := newLab(t)
			l.apply()
			l.must(l.plane.Enforce([]handdown.Rule{offender(flooder + "/32"), offender(modest + "/32")}))
			l.wantPassed(flooder, 80, 5, 0)
			set(l)
			l.wantPassed(flooder, 80, 5, 5)
			l.wantPassed(modest, 80, 5, 0)
			if !strings.Contains(l.log.String(), "rules for offenders are lifted, as what they are in is allowed now\" rules=1") {
				t.Error("nothing is said about the rule that was lifted")
			}
			held, err := l.plane.HandedDown()
			l.must(err)
			if len(held) != 1 || held[0].Prefix.String() != modest+"/32" {
				t.Errorf("handed down: %+v", held)
			}
			// Nor is one made after it was asked whether it may be.
			l.must(l.plane.Enforce([]handdown.Rule{offender(flooder + "/32"), offender("198.51.100.21/32")}))
			l.wantPassed(flooder, 80, 5, 5)
			l.wantPassed("198.51.100.21", 80, 5, 0)
		})
	}
}

func TestProtected(t *testing.T) {
	l := newLab(t)
	l.peers = []lockout.Peer{
		{Addr: netip.MustParseAddr("192.0.2.254"), What: "a default gateway"},
		{Addr: netip.MustParseAddr("192.0.2.253"), What: "a default gateway", Interfaces: []int{99}}, // where nothing is limited
	}
	l.apply(rules(allow("10.0.0.0/8"), allow("2001:db8:0:1::7/128"), block("172.16.0.0/12")))
	for prefix, want := range map[string]string{
		"10.1.2.3/32":         "an allow rule for 10.0.0.0/8 (config)",
		"2001:db8:0:1::/64":   "an allow rule for 2001:db8:0:1::7/128 (config)",
		"2001:db8:0:1::8/128": "",
		"2001:db8:0:2::/64":   "",
		"172.16.0.1/32":       "",
		"192.0.2.254/32":      "192.0.2.254, a default gateway",
		"192.0.2.0/24":        "192.0.2.254, a default gateway",
		"192.0.2.253/32":      "",
		"0.0.0.0/0":           "an allow rule for 10.0.0.0/8 (config)",
	} {
		var got string
		l.must(l.host.Do(func() (err error) {
			got, err = l.plane.Protected(netip.MustParsePrefix(prefix))
			return err
		}))
		if got != want {
			t.Errorf("%s: %q, want %q", prefix, got, want)
		}
	}
}

// A command that holds the lock is waited for.
func TestEnforceWaitsForACommand(t *testing.T) {
	l := newLab(t)
	l.apply()
	done := make(chan error, 1)
	l.cli(func(*loader.Instance) error {
		go func() { done <- l.plane.Enforce([]handdown.Rule{offender("203.0.113.7/32")}) }()
		select {
		case err := <-done:
			t.Errorf("Enforce did not wait: %v", err)
		case <-time.After(10 * poll):
		}
		return nil
	})
	l.must(<-done)
	l.wantRules("block 203.0.113.7/32 handdown")
}

// Nobody who is the next hop of a route is handed down.
func TestNextHopsAreProtected(t *testing.T) {
	l := newLab(t)
	l.apply()
	l.must(l.host.Do(func() error {
		iface, err := netlink.LinkByName(l.pair.Far.Name)
		if err != nil {
			return err
		}
		_, to, err := net.ParseCIDR("198.18.0.0/15")
		if err != nil {
			return err
		}
		return netlink.RouteAdd(&netlink.Route{
			LinkIndex: iface.Attrs().Index, Dst: to, Gw: net.IPv4(192, 0, 2, 77), Flags: int(netlink.FLAG_ONLINK),
		})
	}))
	l.must(l.host.Do(func() error {
		for prefix, want := range map[string]string{
			"192.0.2.77/32": "192.0.2.77, the next hop of a route", "192.0.2.78/32": "", "198.18.0.1/32": "",
		} {
			if got, err := l.plane.Protected(netip.MustParsePrefix(prefix)); err != nil || got != want {
				t.Errorf("%s: %q, %v, want %q", prefix, got, err, want)
			}
		}
		return nil
	}))
}
