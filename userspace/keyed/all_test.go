package keyed_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
)

// remaining returns what is left of each charge's key.
func remaining(charges []keyed.Charge[string]) []uint64 {
	var left []uint64
	for _, c := range charges {
		left = append(left, c.Limiter.Peek(c.Key, 0, start).Remaining)
	}
	return left
}

func store(t testing.TB, text string, burst uint64) *keyed.Store[string, limit.State, limit.Leaky] {
	return keyed.New[string](leaky(t, text, burst), keyed.Options[string]{})
}

func TestCase10RejectedCostNothing(t *testing.T) {
	second, minute := store(t, "1r/s", 0), store(t, "10r/m", 9)
	passed := 0
	for i := range 600 { // 10 requests a second for a minute
		charges := []keyed.Charge[string]{{Limiter: second, Key: "a", N: 1}, {Limiter: minute, Key: "a", N: 1}}
		if keyed.All(charges, start+time.Duration(i)*100*time.Millisecond) {
			passed++
		}
	}
	// 10 at first, one a second, then one each 6 s: what is refused did not eat the minute's.
	if passed != 19 {
		t.Errorf("%d passed, want 19", passed)
	}
}

func TestAllOrNone(t *testing.T) {
	a, b, c := store(t, "1r/s", 4), store(t, "1r/s", 0), store(t, "1r/s", 4)
	charges := []keyed.Charge[string]{{Limiter: a, Key: "k", N: 1}, {Limiter: b, Key: "k", N: 1}, {Limiter: c, Key: "k", N: 1}}
	if !keyed.All(charges, start) {
		t.Fatal("the first does not pass")
	}
	for i, want := range []uint64{4, 0, 4} {
		if r := charges[i].Result; !r.Allowed || r.Remaining != want {
			t.Errorf("limit %d: %+v, want %d remaining", i, r, want)
		}
	}
	if keyed.All(charges, start) {
		t.Fatal("the second passes")
	}
	for i, want := range []uint64{4, 0, 4} {
		if r := charges[i].Result; r.Allowed != (i != 1) || r.Remaining != want {
			t.Errorf("limit %d of a refused: %+v, want %d remaining", i, r, want)
		}
	}
	if r := charges[1].Result; r.RetryAfter != time.Second {
		t.Errorf("the one that refused: %+v", r)
	}
	if counted := a.Counters(); counted.Allowed != 1 || counted.Refused != 0 {
		t.Errorf("the first counted %+v", counted)
	}
	if counted := b.Counters(); counted.Allowed != 1 || counted.Refused != 1 {
		t.Errorf("the second counted %+v", counted)
	}
}

func TestAllOfNothing(t *testing.T) {
	if !keyed.All[string](nil, start) {
		t.Error("no limits refuse")
	}
}

// Each wait of those that refuse is known, so that the longest can be told.
func TestAllTellsEachWait(t *testing.T) {
	a, b := store(t, "1r/s", 0), store(t, "1r/m", 0)
	charges := []keyed.Charge[string]{{Limiter: a, Key: "k", N: 1}, {Limiter: b, Key: "k", N: 1}}
	keyed.All(charges, start)
	if keyed.All(charges, start) || charges[0].Result.RetryAfter != time.Second || charges[1].Result.RetryAfter != time.Minute {
		t.Errorf("%+v", charges)
	}
	if counted := b.Counters(); counted.Refused != 0 {
		t.Errorf("who was only looked at counted %+v", counted)
	}
}

func TestSameKeyIsChargedOnce(t *testing.T) {
	l := share(t, "1r/s", 9, 4)
	s := keyed.New[string](l[0], keyed.Options[string]{Shards: 1}) // other keys have the same lock
	charges := []keyed.Charge[string]{{Limiter: s, Key: "k", N: 1}, {Limiter: s.With(l[1]), Key: "k", N: 1}, {Limiter: s, Key: "other", N: 1}}
	for i := range 5 {
		if !keyed.All(charges, start) {
			t.Fatalf("request %d is refused", i)
		}
	}
	if keyed.All(charges, start) {
		t.Error("the smaller burst does not count")
	}
	if left := remaining(charges); left[0] != 5 || left[2] != 5 {
		t.Errorf("%v remain, want 5 of each", left)
	}
}

// Of several costs for one key the largest is charged, but for what a trial would.
func TestLargestCostOfAKeyIsCharged(t *testing.T) {
	tests := []struct {
		name    string
		charges []keyed.Charge[string]
		want    uint64
	}{
		{"the second", []keyed.Charge[string]{{N: 1}, {N: 4}, {N: 2}}, 6},
		{"a cheaper trial", []keyed.Charge[string]{{N: 1, DryRun: 1}, {N: 4}}, 6},
		{"a dearer trial", []keyed.Charge[string]{{N: 7, DryRun: 1}, {N: 4}}, 6},
		{"trials", []keyed.Charge[string]{{N: 2, DryRun: 1}, {N: 4, DryRun: 2}}, 6},
	}
	for _, tt := range tests {
		s := store(t, "1r/s", 9)
		for i := range tt.charges {
			tt.charges[i].Limiter, tt.charges[i].Key = s, "k"
		}
		keyed.All(tt.charges, start)
		if got := s.Peek("k", 0, start).Remaining; got != tt.want {
			t.Errorf("%s: %d remain, want %d", tt.name, got, tt.want)
		}
	}
}

// The same number in two stores is not the same key.
func TestSameKeyOfTwoStoresIsChargedTwice(t *testing.T) {
	a, b := store(t, "1r/s", 9), store(t, "1r/s", 9)
	charges := []keyed.Charge[string]{{Limiter: a, Key: "k", N: 1}, {Limiter: b, Key: "k", N: 1}}
	keyed.All(charges, start)
	if left := remaining(charges); left[0] != 9 || left[1] != 9 {
		t.Errorf("%v remain", left)
	}
}

func TestCase26DryRunBesideEnforced(t *testing.T) {
	l := share(t, "1r/s", 9, 2)
	s := keyed.New[string](l[0], keyed.Options[string]{})
	trial := s.With(l[1])
	would := 0
	for i := range 12 {
		charges := []keyed.Charge[string]{{Limiter: trial, Key: "k", N: 1, DryRun: 1}, {Limiter: s, Key: "k", N: 1}}
		if passed := keyed.All(charges, start); passed != (i < 10) {
			t.Errorf("request %d passes: %v", i, passed)
		}
		if !charges[0].Result.Allowed {
			would++
		}
	}
	if would != 9 {
		t.Errorf("%d would have been refused, want 9", would)
	}
}

func TestDryRunGroups(t *testing.T) {
	enforced, open, shut := store(t, "1r/s", 9), store(t, "1r/s", 9), store(t, "1r/s", 0)
	shut.Take("k", 1, start)
	charges := []keyed.Charge[string]{
		{Limiter: open, Key: "one", N: 1, DryRun: 1}, {Limiter: shut, Key: "k", N: 1, DryRun: 1},
		{Limiter: open, Key: "two", N: 1, DryRun: 2},
		{Limiter: enforced, Key: "k", N: 1},
	}
	if !keyed.All(charges, start) {
		t.Fatal("what is tried out refuses")
	}
	if left := remaining(charges); left[0] != 10 || left[1] != 0 || left[2] != 9 || left[3] != 9 {
		t.Errorf("%v remain", left)
	}

	enforced.Take("k", 9, start)
	if keyed.All(charges, start) {
		t.Fatal("the enforced limit does not refuse")
	}
	if left := remaining(charges); left[2] != 9 {
		t.Errorf("what was refused is charged to what is tried out: %v remain", left)
	}
}

// An enforced limit is charged even if the same key was asked before it by a trial that fails.
func TestFailedTrialDoesNotPayForEnforced(t *testing.T) {
	s, shut := store(t, "1r/s", 9), store(t, "1r/s", 0)
	shut.Take("k", 1, start)
	charges := []keyed.Charge[string]{
		{Limiter: s, Key: "k", N: 1, DryRun: 1}, {Limiter: shut, Key: "k", N: 1, DryRun: 1}, {Limiter: s, Key: "k", N: 1},
	}
	keyed.All(charges, start)
	if got := s.Peek("k", 0, start).Remaining; got != 9 {
		t.Errorf("%d remain, want 9", got)
	}
}

// A trial that fails pays for no other.
func TestFailedTrialDoesNotPayForAnother(t *testing.T) {
	s, shut := store(t, "1r/s", 9), store(t, "1r/s", 0)
	shut.Take("k", 1, start)
	charges := []keyed.Charge[string]{
		{Limiter: s, Key: "k", N: 5, DryRun: 1}, {Limiter: shut, Key: "k", N: 1, DryRun: 1}, {Limiter: s, Key: "k", N: 1, DryRun: 2},
	}
	keyed.All(charges, start)
	if got := s.Peek("k", 0, start).Remaining; got != 9 {
		t.Errorf("%d remain, want 9", got)
	}
	if !keyed.All(charges[1:2], start) {
		t.Error("a trial alone refuses")
	}
}

// Of those that refuse, only the first of the enforced and of each trial counts it, and a trial only
// before the enforced have refused.
func TestRefusedIsCountedOnce(t *testing.T) {
	limiters := make([]*keyed.Store[string, limit.State, limit.Leaky], 6)
	charges := make([]keyed.Charge[string], len(limiters))
	for i, group := range []int{1, 1, 2, 0, 2, 0} {
		limiters[i] = store(t, "1r/s", 0)
		limiters[i].Take("k", 1, start)
		charges[i] = keyed.Charge[string]{Limiter: limiters[i], Key: "k", N: 1, DryRun: group}
	}
	charges[2].Key = "another" // allowed
	keyed.All(charges, start)
	for i, want := range []uint64{1, 0, 0, 1, 0, 0} {
		if got := limiters[i].Counters().Refused; got != want {
			t.Errorf("limit %d counted %d, want %d", i, got, want)
		}
	}
}

// More limits than fit on the stack.
func TestManyLimits(t *testing.T) {
	s := store(t, "1r/s", 0)
	var charges []keyed.Charge[string]
	for i := range 40 {
		charges = append(charges, keyed.Charge[string]{Limiter: s, Key: string(rune('a' + i)), N: 1})
	}
	if !keyed.All(charges, start) || keyed.All(charges[39:], start) {
		t.Error("not all of them are charged")
	}
}

func TestAllOccupiesSlotsLast(t *testing.T) {
	slots := keyed.NewSlots[string](1, keyed.Options[string]{})
	s := store(t, "1r/s", 1)
	charges := []keyed.Charge[string]{{Limiter: slots, Key: "k", N: 1}, {Limiter: s, Key: "k", N: 1}}
	if !keyed.All(charges, start) {
		t.Fatal("the first is refused")
	}
	lease := charges[0].Result
	if keyed.All(charges, start) || s.Peek("k", 0, start).Remaining != 1 {
		t.Error("the second passes, or is charged")
	}
	if !slots.Refund("k", lease, start) || !keyed.All(charges, start) {
		t.Error("the slot is not free again")
	}
	slots.Refund("k", charges[0].Result, start)
	if keyed.All(charges, start); !slots.Peek("k", 1, start).Allowed {
		t.Error("a request that another limit refused keeps its slot")
	}
}
