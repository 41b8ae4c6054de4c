package e2e_test

import (
	"cmp"
	"net/netip"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/headgate/headgate/test/netlab"
)

const (
	client  = "10.1.0.2" // at the other end of the lab's pair
	session = "SSH_CONNECTION=" + client + " 50000 10.1.0.1 22"
)

// newHome is a lab whose host has a route to a client.
func newHome(tb testing.TB) *lab {
	tb.Helper()
	return newLabWith(tb, netlab.PairOptions{
		NearAddrs: []netip.Prefix{netip.MustParsePrefix(client + "/24")},
		FarAddrs:  []netip.Prefix{netip.MustParsePrefix("10.1.0.1/24")},
	})
}

// cutting are commands that would cut off the client.
func cutting() []string {
	return []string{
		"block " + client, "block 10.0.0.0/8", "block 0.0.0.0/0", "block 192.0.2.1 10.1.0.0/24 --for 1h",
		"set " + client + " --rate 1pps", "set 10.0.0.0/8 --rate 30ppm --burst 1k", "set 10.1.0.0/16 --bandwidth 1KiB/s",
		"set default --rate 1pps", "set default --bandwidth 100B/s", "policy set ssh --proto tcp --port 22 --rate 6pph",
		"policy set all-tcp --proto tcp --rate 1pps", "policy set low --port 1-1023 --rate 1pps", "attach far0 --rate 1pps",
	}
}

// sparing are commands that are like them and would not.
func sparing() []string {
	return []string{
		"block 10.1.0.3", "block 10.2.0.0/16", "set default --rate 1kpps", "set 10.0.0.0/8 --rate 100pps",
		"policy set web --proto tcp --port 80 --rate 1pps", "policy set syn --syn --rate 1pps",
		"policy set dns --proto udp --rate 1pps", "policy set dry --proto tcp --rate 1pps --dry-run",
		"unset 10.1.0.3 10.2.0.0/16 10.0.0.0/8",
	}
}

// TestLockout refuses what would cut off the SSH session, which is known from the environment of
// headgate itself or of a process above it.
func TestLockout(t *testing.T) {
	for _, how := range []string{"own environment", wrapChild} {
		t.Run(how, func(t *testing.T) {
			l := newHome(t)
			l.attach()
			in := func(args string) *command {
				c := l.command(strings.Fields(args)...).with(session)
				if how == wrapChild {
					c.wrapped(wrapChild)
				}
				return c
			}
			before := l.state()
			for _, args := range cutting() {
				in(args).run().wantError(t, 1, "would cut off "+client+", this SSH session; nothing was changed, and --force does it")
			}
			l.wantState(before)
			for _, args := range sparing() {
				if r := in(args).run(); r.code != 0 {
					t.Errorf("%s: exit %d: %s", args, r.code, r.stderr)
				}
			}
		})
	}
}

// TestLockoutOverruled does it all the same where the user forces it, or has allowed the client.
func TestLockoutOverruled(t *testing.T) {
	for _, how := range []string{"force", "allow"} {
		t.Run(how, func(t *testing.T) {
			l := newHome(t)
			l.attach()
			force := " --force"
			if how == "allow" {
				l.must("allow", client)
				force = ""
			}
			for _, args := range cutting() {
				if r := l.command(strings.Fields(args + force)...).with(session).run(); r.code != 0 {
					t.Errorf("%s: exit %d: %s", args, r.code, r.stderr)
				}
			}
			want := 0
			if how == "allow" {
				want = 10
			}
			l.wantPassed(udp(client), 10, want)
		})
	}
}

// TestLockoutNewInstance refuses the very first attach, and leaves nothing behind.
func TestLockoutNewInstance(t *testing.T) {
	l := newHome(t)
	attach := []string{"attach", l.dev(), "--max-sources", "4096", "--rate", "1pps"}
	l.command(attach...).with(session).run().wantError(t, 1, "would cut off "+client)
	l.wantNoInstance()
	if r := l.command(append(attach, "--dry-run")...).with(session).run(); r.code != 0 {
		t.Errorf("dry run: exit %d: %s", r.code, r.stderr)
	}
}

// TestLockoutOtherInterface limits an interface through which no packet of the client comes.
func TestLockoutOtherInterface(t *testing.T) {
	home := newHome(t)
	l := home.beside(pairTwo(), home.pin)
	l.attach()
	for _, args := range cutting() {
		args = strings.ReplaceAll(args, "far0", "far1")
		if r := l.command(strings.Fields(args)...).with(session).run(); r.code != 0 {
			t.Errorf("%s: exit %d: %s", args, r.code, r.stderr)
		}
	}
	// It would as soon as the instance is attached to the client's interface too.
	r := l.command("attach", home.dev()).with(session).run()
	r.wantError(t, 1, "would cut off "+client)
	if id := home.programID(); id != 0 {
		t.Errorf("program %d is on %s", id, home.dev())
	}
}

// TestLockoutBridge has the client's route point at a bridge, and limits the port through which its
// packets come. A port of another bridge is none of them.
func TestLockoutBridge(t *testing.T) {
	l := newLab(t)
	l.bridge("br0", "10.1.0.1/24")
	other := l.beside(pairTwo(), l.pin+"-2")
	other.bridge("br1", "10.9.0.1/24")
	l.attach()
	other.attach()
	before := l.state()
	for _, args := range cutting() {
		l.command(strings.Fields(args)...).with(session).run().wantError(t, 1, "would cut off "+client+", this SSH session")
		args = strings.ReplaceAll(args, "far0", "far1")
		if r := other.command(strings.Fields(args)...).with(session).run(); r.code != 0 {
			t.Errorf("on the other bridge, %s: exit %d: %s", args, r.code, r.stderr)
		}
	}
	l.wantState(before)
}

// bridge puts the lab's interface into a new bridge, which has the address.
func (l *lab) bridge(name, address string) {
	l.tb.Helper()
	err := l.pair.Far.Namespace.Do(func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = name
		br := &netlink.Bridge{LinkAttrs: attrs}
		ip, err := netlink.ParseAddr(address)
		if err != nil {
			return err
		}
		port, err := netlink.LinkByName(l.dev())
		if err != nil {
			return err
		}
		return cmp.Or(netlink.LinkAdd(br), netlink.LinkSetMaster(port, br), netlink.AddrAdd(br, ip), netlink.LinkSetUp(br))
	})
	if err != nil {
		l.tb.Fatal(err)
	}
}

// step is a command on the way to a lockout. Where refused is not empty it says what would cut off
// the client.
type step struct{ args, refused string }

// TestLockoutLater refuses what cuts off the client only together with something else: a rule that
// was set where it did not matter, or one that protects the client but not for as long.
func TestLockoutLater(t *testing.T) {
	const blocking = "blocking 10.0.0.0/8"
	tests := map[string][]step{
		"block before the interface": {
			{"detach far0", ""}, {"block 10.0.0.0/8", ""}, {"attach far0", blocking},
			{"attach far0 --dry-run", ""}, {"attach far0 --dry-run=false", blocking},
			{"attach far0 --dry-run=false --force", ""}, {"attach far0", ""}, {"set default --rate 1kpps", ""},
		},
		"block for longer than the allow": {
			{"allow 10.1.0.2 --for 1h", ""}, {"block 10.0.0.0/8", blocking}, {"block 10.0.0.0/8 --for 2h", blocking},
			{"block 10.0.0.0/8 --for 30m", ""}, {"block 10.1.0.2 --for 2h", "blocking 10.1.0.2/32"},
			{"set 10.0.0.0/8 --rate 1pps", "a limit of 1pps, burst 1 for 10.0.0.0/8"},
			{"set 10.0.0.0/8 --rate 1pps --for 30m", ""},
		},
		"limit behind an allow that ends": {
			{"allow 10.1.0.2 --for 1h", ""}, {"set default --rate 1pps", "a limit of 1pps, burst 1 (policy default)"},
			{"policy set ssh --port 22 --rate 1pps", "a limit of 1pps, burst 1 (policy ssh)"},
			{"allow 10.1.0.0/16", ""}, {"set default --rate 1pps", ""},
		},
		"removing the allow": {
			{"allow 10.1.0.2", ""}, {"block 10.0.0.0/8", ""}, {"unset 10.1.0.2", blocking}, {"unset 10.1.0.3 10.1.0.2", blocking},
			{"allow 10.1.0.2 --for 1h", blocking}, {"set default --rate 1pps", ""}, {"unset 10.0.0.0/8", ""},
			{"unset 10.1.0.2", "a limit of 1pps, burst 1 (policy default)"}, {"unset 10.1.0.2 --force", ""},
		},
		"a limit over the allow": {
			{"allow 10.0.0.0/8", ""}, {"set default --rate 1pps", ""}, {"set 10.1.0.0/16 --rate 1kpps", ""},
			{"policy set ssh --port 22 --rate 1pps", "(policy ssh)"},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			l := newHome(t)
			l.attach()
			second := l.beside(pairTwo(), l.pin)
			second.attach() // so that the instance stays
			for _, s := range steps {
				before := l.state()
				r := l.command(strings.Fields(s.args)...).with(session).run()
				if s.refused != "" {
					r.wantError(t, 1, s.refused+" would cut off "+client)
					l.wantState(before)
				} else if r.code != 0 {
					t.Errorf("%s: exit %d: %s", s.args, r.code, r.stderr)
				}
			}
		})
	}
}

// TestRefusedAttach upgrades nothing where it is refused, for whatever reason.
func TestRefusedAttach(t *testing.T) {
	l := newHome(t)
	l.attach("--rate", "1kpps")
	l.outdate()
	other := l.beside(pairTwo(), l.pin)
	other.attachOther("someones_filter", false)
	before := l.state()
	l.command("attach", l.dev(), "--rate", "1pps").with(session).run().wantError(t, 1, "would cut off "+client)
	l.run("attach", l.dev(), other.dev(), "--rate", "2kpps").wantError(t, 1, "someones_filter")
	l.run("attach", l.dev(), "--try", "1m", other.dev()).wantError(t, 1, "someones_filter")
	l.wantState(before)
	if !outdated(l) {
		t.Error("it was upgraded")
	}
}

// TestLockoutGateway refuses what would cut off the default gateway, with no session at all.
func TestLockoutGateway(t *testing.T) {
	l := newHome(t)
	err := l.pair.Far.Namespace.Do(func() error {
		return netlink.RouteAdd(&netlink.Route{LinkIndex: l.pair.Far.Index, Gw: addr(client).AsSlice()})
	})
	if err != nil {
		t.Fatal(err)
	}
	l.attach()
	before := l.state()
	for _, args := range []string{"block " + client, "block 10.0.0.0/8", "set 10.0.0.0/8 --rate 1pps", "set default --rate 1pps"} {
		l.run(strings.Fields(args)...).wantError(t, 1, "would cut off "+client+", a default gateway")
	}
	l.wantState(before)
	l.must("policy", "set", "ssh", "--proto", "tcp", "--rate", "1pps")
	l.must("block", client, "--force")
}
