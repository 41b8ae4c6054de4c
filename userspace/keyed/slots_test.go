package keyed_test

import (
	"testing"

	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
)

func TestSlots(t *testing.T) {
	s := keyed.NewSlots[string](2, keyed.Options[string]{Name: "slots"})
	first, second := s.Take("a", 1, start), s.Take("a", 1, start)
	if !first.Allowed || first.Remaining != 1 || !second.Allowed || second.Remaining != 0 {
		t.Errorf("the first two: %+v, %+v", first, second)
	}
	if r := s.Take("a", 1, start); r.Allowed || r.Limit != 2 || r.Remaining != 0 || r.RetryAfter <= 0 || r.Zone != "slots" {
		t.Errorf("the third: %+v", r)
	}
	if r := s.Take("b", 2, start); !r.Allowed {
		t.Errorf("another key: %+v", r)
	}
	if r := s.Take("b", 3, start); r.RetryAfter != limit.Never {
		t.Errorf("more than there are: %+v", r)
	}
	s.Refund("a", first, start)
	if r := s.Take("a", 1, start); !r.Allowed {
		t.Errorf("after one was freed: %+v", r)
	}
	want := keyed.Counters{Keys: 2, Allowed: 4, Refused: 2}
	if got := s.Counters(); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

// Freed once, whoever calls, with which copy and how often.
func TestCase52SlotsAreFreedOnce(t *testing.T) {
	s := keyed.NewSlots[string](2, keyed.Options[string]{})
	a, b := s.Take("a", 1, start), s.Take("a", 1, start)
	twice := a
	if !s.Refund("a", a, start) || s.Refund("a", twice, start) || s.Refund("a", a, start) {
		t.Error("a slot is freed other than once")
	}
	again := s.Take("a", 1, start) // has the lease's place of the first
	if s.Refund("a", a, start) {
		t.Error("a slot of another is freed")
	}
	if !s.Refund("a", again, start) || !s.Refund("a", b, start) {
		t.Error("slots are not freed")
	}
	for name, r := range map[string]limit.Result{
		"refused":  s.Take("a", 3, start),
		"peeked":   s.Peek("a", 1, start),
		"none":     s.Take("a", 0, start),
		"made up":  limit.Result{}.WithUndo(1, 2),
		"ended":    limit.Result{}.WithUndo(1, 4), // as the first lease is now
		"next":     limit.Result{}.WithUndo(3, 1), // of two
		"too high": limit.Result{}.WithUndo(1<<63, 1),
	} {
		if s.Refund("a", r, start) {
			t.Errorf("%s: something is freed", name)
		}
	}
	if r := s.Peek("a", 2, start); !r.Allowed {
		t.Errorf("at the end: %+v", r)
	}
}

// A lease is not another key's to end.
func TestSlotsOfAnotherKeyAreNotFreed(t *testing.T) {
	s := keyed.NewSlots[string](1, keyed.Options[string]{Shards: 1})
	r := s.Take("a", 1, start)
	if s.Refund("b", r, start) || s.Peek("a", 1, start).Allowed || !s.Refund("a", r, start) {
		t.Error("a key frees what another occupies")
	}
}

// What is under way is not forgotten, whatever comes meanwhile, and what has ended is.
func TestSlotsRememberWhatIsUnderWay(t *testing.T) {
	s := keyed.NewSlots[int](1, keyed.Options[int]{MaxKeys: 10, Shards: 1})
	for i := range 1000 {
		s.Take(i, 1, start)
	}
	for i := range 10_000 {
		r := s.Take(5000+i, 1, start)
		s.Refund(5000+i, r, start)
	}
	for i := range 1000 {
		if s.Peek(i, 1, start).Allowed {
			t.Fatalf("key %d was forgotten", i)
		}
	}
	if got := s.Counters(); got.Keys > 2500 || got.EvictedLive != 0 {
		t.Errorf("counted %+v", got)
	}
}

func TestSlotsWith(t *testing.T) {
	wide := keyed.NewSlots[string](5, keyed.Options[string]{})
	narrow := wide.With(1)
	if !wide.Take("a", 1, start).Allowed || narrow.Take("a", 1, start).Allowed || !wide.Take("a", 1, start).Allowed {
		t.Error("limits of the same keys do not see each other's")
	}
	if r := narrow.Take("a", 1, start); r.Allowed || r.Remaining != 0 {
		t.Errorf("with more under way than it allows: %+v", r)
	}
}
