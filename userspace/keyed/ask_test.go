package keyed_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
)

// TestAskChargesNothing: Ask tells what All would decide, results and refusals are as of limits that another has refused, and nothing is
// charged.
func TestAskChargesNothing(t *testing.T) {
	a, b := store(t, "1r/s", 4), store(t, "1r/s", 0)
	charges := []keyed.Charge[string]{{Limiter: a, Key: "k", N: 1}, {Limiter: b, Key: "k", N: 1}}
	for range 3 {
		if !keyed.Ask(charges, start) {
			t.Fatal("what nothing was charged for is refused")
		}
	}
	for i, want := range []uint64{5, 1} {
		if r := charges[i].Result; !r.Allowed || r.Remaining != want {
			t.Errorf("limit %d: %+v, want %d remaining", i, r, want)
		}
	}
	if !keyed.All(charges, start) || keyed.Ask(charges, start) {
		t.Error("want the first to pass, and not the second")
	}
	if r := charges[1].Result; r.Allowed || r.RetryAfter != time.Second {
		t.Errorf("the one that refuses: %+v", r)
	}
	if a, b := a.Counters(), b.Counters(); a.Allowed != 1 || a.Refused != 0 || b.Allowed != 1 || b.Refused != 1 {
		t.Errorf("counted %+v and %+v, want 1 allowed each, and 1 refused by the second", a, b)
	}
	if left := remaining(charges); left[0] != 4 || left[1] != 0 {
		t.Errorf("left %v, want 4 and 0", left)
	}
}

// TestAskOfOne: one limit alone is not charged either.
func TestAskOfOne(t *testing.T) {
	a := store(t, "1r/s", 0)
	charges := []keyed.Charge[string]{{Limiter: a, Key: "k", N: 1}}
	for range 2 {
		if !keyed.Ask(charges, start) || !keyed.Ask[string](nil, start) {
			t.Error("want all to be allowed")
		}
	}
}

// TestAskIsSuperseded: limits that others have taken the place of decide nothing.
func TestAskIsSuperseded(t *testing.T) {
	old := store(t, "1r/s", 0)
	old.Succeed([]limit.Leaky{leaky(t, "1r/s", 0)}, nil).Settle(start)
	charges := []keyed.Charge[string]{{Limiter: old, Key: "k", N: 1}}
	if keyed.Ask(charges, start) || !keyed.Superseded(charges) {
		t.Error("want no decision")
	}
}
