package agent

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/headgate/headgate/userspace/fleet"
)

// fleetKernel counts what a fleet changes.
type fleetKernel struct {
	Kernel
	changes int
}

func (k *fleetKernel) SetFleet([]fleet.Rule) error { k.changes++; return nil }
func (k *fleetKernel) Lift([]netip.Prefix) error   { k.changes++; return nil }

// Who was the member before a reload changes nothing in the kernel any more, though it was about to.
func TestOnlyTheMemberChangesTheKernel(t *testing.T) {
	t.Parallel()
	k, a := &fleetKernel{}, New(Options{})
	now, before := &fleet.Fleet{}, &fleet.Fleet{}
	a.fleet.Store(now)
	for _, tt := range []struct {
		member *fleet.Fleet
		err    error
		calls  int
	}{{now, nil, 2}, {before, errLeft, 0}} {
		k.changes = 0
		p := &place{Kernel: k, agent: a, member: tt.member}
		if set, lift := p.SetFleet(nil), p.Lift(nil); !errors.Is(set, tt.err) || !errors.Is(lift, tt.err) || k.changes != tt.calls {
			t.Errorf("%v, %v and %d changes, want %v and %d", set, lift, k.changes, tt.err, tt.calls)
		}
	}
}
