package e2e_test

import (
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
)

func deleteLink(name string) error {
	iface, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	return netlink.LinkDel(iface)
}

// TestSourceMoves has a source come in through two interfaces of one instance: it has one bucket.
func TestSourceMoves(t *testing.T) {
	l := newLab(t)
	other := l.beside(pairTwo(), l.pin)
	l.must("attach", l.dev(), other.dev(), "--rate", never, "--burst", "10", "--max-sources", "4096")
	l.wantPassed(udp(flooder), 6, 6)
	other.wantPassed(udp(flooder), 6, 4)
	l.wantPassed(udp(flooder), 6, 0)
	l.wantPassed(udp(modest), 6, 6)

	l.must("detach", l.dev())
	l.wantPassed(udp(flooder), 6, 6) // free here, and there still limited
	other.wantPassed(udp(flooder), 6, 0)
	if got := l.status().Interfaces; len(got) != 1 || got[0].Name != other.dev() {
		t.Errorf("interfaces %+v, want %s", got, other.dev())
	}
	l.must("detach", other.dev())
	l.wantNoInstance()
	other.wantNoInstance()
}

// TestDetachNothing detaches where nothing is attached: that is no error, a name that is wrong is.
func TestDetachNothing(t *testing.T) {
	l := newLab(t)
	for _, args := range []string{"detach " + l.dev(), "detach --all"} {
		if got := l.must(strings.Fields(args)...).stdout; got != "nothing to change\n" {
			t.Errorf("%s prints %q", args, got)
		}
	}
	l.run("detach", "nosuch").wantError(t, 1, `no such interface: "nosuch"`)
	l.wantNoInstance()
}

// TestDetachTwice names an interface twice in one command: it is detached from, and with it all goes.
func TestDetachTwice(t *testing.T) {
	l := newLab(t)
	l.attach()
	got := l.must("detach", l.dev(), l.dev()).stdout
	if want := "detached from " + l.dev() + "; no interface is left, so the instance is removed\n"; got != want {
		t.Errorf("prints %q, want %q", got, want)
	}
	l.wantNoInstance()
}

// TestInstances has two instances on two interfaces: neither knows of the other.
func TestInstances(t *testing.T) {
	l := newLab(t)
	other := l.beside(pairTwo(), l.pin+"-2")
	l.attach("--rate", never, "--burst", "10")
	other.attach("--rate", never, "--burst", "3")
	other.must("block", modest)
	l.wantPassed(udp(flooder), 20, 10)
	other.wantPassed(udp(flooder), 20, 3)
	l.wantPassed(udp(modest), 5, 5)
	other.wantPassed(udp(modest), 5, 0)

	before := other.state()
	l.must("detach", "--all")
	l.wantNoPins()
	other.wantState(before)
	other.wantPassed(udp(third), 20, 3)
	other.must("--pin", other.pin, "detach", "--all")
	other.wantNoInstance()
}

// TestOneInterfaceOneInstance does not let a second instance take an interface away.
func TestOneInterfaceOneInstance(t *testing.T) {
	l := newLab(t)
	l.attach("--rate", never, "--burst", "10")
	before := l.state()
	r := l.run("--pin", l.pin+"-2", "attach", l.dev(), "--max-sources", "4096")
	r.wantError(t, 1, "xdp_ratelimit")
	l.wantState(before)
}

// TestIdempotent repeats verbs: the second time changes nothing and succeeds.
func TestIdempotent(t *testing.T) {
	l := newLab(t)
	l.must("detach", "--all")
	for _, args := range [][]string{
		{"attach", l.dev(), "--rate", never, "--burst", "10"},
		{"block", modest},
		{"allow", flooder},
		{"set", third, "--rate", never},
		{"unset", modest},
		{"policy", "set", "dns", "--port", "53", "--rate", never},
		{"policy", "delete", "dns"},
	} {
		l.must(args...)
		before := l.state()
		l.must(args...)
		l.wantState(before)
	}
	l.must("detach", l.dev())
	l.wantNoInstance()
	l.must("detach", "--all")
}

// TestMillion attaches with tables for a million sources and a million rules.
func TestMillion(t *testing.T) {
	l := newLab(t)
	l.must("attach", l.dev(), "--rate", never, "--burst", "5", "--max-sources", "1048576", "--max-rules", "1048576")
	l.wantPassed(udp(flooder), 10, 5)
	got := query[struct {
		Memory struct {
			Bytes uint64
			Maps  []struct {
				Name    string
				Entries int `json:"max_entries"`
				Bytes   uint64
			}
		}
	}](l, "status").Memory
	var sum uint64
	for _, m := range got.Maps {
		sum += m.Bytes
		if m.Name == "buckets" && (m.Entries != 1<<20 || m.Bytes < 128<<20) {
			t.Errorf("%+v: want a million entries of at least 128 bytes", m)
		}
	}
	if sum != got.Bytes {
		t.Errorf("the maps have %d bytes together, and the total is %d", sum, got.Bytes)
	}
}
