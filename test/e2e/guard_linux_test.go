package e2e_test

import (
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
