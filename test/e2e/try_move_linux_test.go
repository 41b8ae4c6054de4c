package e2e_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/headgate/headgate/test/netlab/netlabtest"
)

// TestTryInterfaceMoves has the second interface get another number during the trial, as it is away
// for a while in a namespace where its own is taken.
func TestTryInterfaceMoves(t *testing.T) {
	l := newTrial(t, true)
	other := l.beside(pairTwo(), l.pin)
	y := startTrial(other, time.Minute)
	home, away := other.pair.Far, netlabtest.Namespace(t)
	err := away.Do(func() error {
		attrs := netlink.LinkAttrs{Name: "taken0", Index: home.Index}
		return netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "peer0"})
	})
	if err != nil {
		t.Fatal(err)
	}
	if back := netlabtest.Move(t, netlabtest.Move(t, home, away), home.Namespace); back.Index == home.Index {
		t.Fatalf("%s has the number %d still", back.Name, back.Index)
	}
	y.signal(syscall.SIGINT)
	y.wait()
	if id := other.programID(); id != 0 {
		t.Errorf("program %d is on %s after the trial", id, other.dev())
	}
	l.wantBefore(true)
}
