package e2e_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/netlab/netlabtest"
)

// TestTryInterfaceMoves has the second interface get another number during the trial.
func TestTryInterfaceMoves(t *testing.T) {
	l := newTrial(t, true)
	other := l.beside(pairTwo(), l.pin)
	y := startTrial(other, time.Minute)
	home, away := other.pair.Far.Namespace, netlabtest.Pair(t, netlab.PairOptions{FarName: "x0"}).Far.Namespace
	addLinks(t, away, 4)
	before := moveLink(t, other.dev(), home, away)
	moveLink(t, other.dev(), away, home)
	if after := moveLink(t, other.dev(), home, home); after == before {
		t.Fatalf("%s has the number %d still", other.dev(), after)
	}
	y.signal(syscall.SIGINT)
	y.wait()
	if id := other.programID(); id != 0 {
		t.Errorf("program %d is on %s after the trial", id, other.dev())
	}
	l.wantBefore(true)
}

// addLinks makes interfaces, so that their numbers are taken.
func addLinks(t *testing.T, ns *netlab.Namespace, n int) {
	t.Helper()
	err := ns.Do(func() error {
		var errs []error
		for k := range n {
			attrs := netlink.LinkAttrs{Name: fmt.Sprintf("a%d", k)}
			errs = append(errs, netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: fmt.Sprintf("b%d", k)}))
		}
		return errors.Join(errs...)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// moveLink takes an interface to another namespace and returns the number that it had.
func moveLink(t *testing.T, name string, from, to *netlab.Namespace) (index int) {
	t.Helper()
	err := from.Do(func() error {
		iface, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		index = iface.Attrs().Index
		return netlink.LinkSetNsFd(iface, to.FD())
	})
	if err != nil {
		t.Fatal(err)
	}
	return index
}
