package keyed_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
)

func TestKeysAreLimitedApart(t *testing.T) {
	s := keyed.New[string](leaky(t, "1r/s", 4), keyed.Options[string]{Name: "perip"})
	for _, key := range []string{"a", "b", ""} {
		if got := allowed(s, key, 10, start); got != 5 {
			t.Errorf("%q: %d passed, want 5", key, got)
		}
	}
	if got := s.Take("a", 1, start+time.Second); !got.Allowed || got.Zone != "perip" || got.Remaining != 0 {
		t.Errorf("a second later: %+v", got)
	}
	want := keyed.Counters{Keys: 3, Allowed: 16, Refused: 15}
	if got := s.Counters(); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

// What is asked of a store equals what is asked of an algorithm and a map.
func TestStoreEqualsMap(t *testing.T) {
	l := leaky(t, "10r/s", 3)
	rapid.Check(t, func(t *rapid.T) {
		s := keyed.New[int](l, keyed.Options[int]{Shards: rapid.SampledFrom([]int{1, 4}).Draw(t, "shards")})
		model := map[int]limit.State{}
		now := start
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(0, 300).Draw(t, "ms")) * time.Millisecond
			key := rapid.IntRange(0, 5).Draw(t, "key")
			n := rapid.Uint64Range(0, 5).Draw(t, "n")
			state, ok := model[key]
			if !ok {
				state = l.Fresh(now)
			}
			want := l.Take(&state, n, now)
			if peeked := s.Peek(key, n, now); peeked.WithUndo(0, 0) != want.WithUndo(0, 0) {
				t.Fatalf("Peek says %+v, want %+v", peeked, want)
			}
			got := s.Take(key, n, now)
			if got.WithUndo(0, 0) != want.WithUndo(0, 0) {
				t.Fatalf("Take says %+v, want %+v", got, want)
			}
			if want.Allowed && rapid.IntRange(0, 3).Draw(t, "refund") == 0 {
				undone := l.Refund(&state, want, now)
				if s.Refund(key, got, now) != undone || s.Refund(key, got, now) {
					t.Fatalf("Refund of %+v", want)
				}
			}
			if want.Allowed && n > 0 { // what costs nothing is not remembered
				model[key] = state
			}
		}
	})
}

func TestPeekRemembersNothing(t *testing.T) {
	s := keyed.New[string](leaky(t, "1r/s", 0), keyed.Options[string]{})
	s.Peek("a", 1, start)
	s.Take("b", 0, start) // asks for the state
	s.Take("c", 2, start) // more than the limit
	if got := s.Counters(); got.Keys != 0 {
		t.Errorf("%d keys are remembered", got.Keys)
	}
	if !s.Take("a", 1, start).Allowed || s.Peek("a", 1, start).Allowed || s.Take("a", 1, start).Allowed {
		t.Error("a peek changes what is decided")
	}
	if !s.Peek("a", 1, start+time.Hour).Allowed || s.Take("a", 1, start).Allowed {
		t.Error("a peek at a later time makes it that time")
	}
}

// A result of what was not charged takes back nothing, though others were charged as much.
func TestOnlyWhatWasChargedIsRefunded(t *testing.T) {
	limiters := map[string]keyed.Limiter[string]{
		"leaky":   store(t, "1r/h", 8),
		"window":  keyed.New[string](must(limit.NewWindow(9, time.Hour)), keyed.Options[string]{}),
		"sliding": keyed.New[string](must(limit.NewSliding(9, time.Hour)), keyed.Options[string]{}),
	}
	for name, l := range limiters {
		l.Take("k", 1, start)
		peeked := l.Peek("k", 1, start)
		l.Take("k", 1, start)
		charges := []keyed.Charge[string]{{Limiter: l, Key: "k", N: 1}, {Limiter: l, Key: "k", N: 1}}
		keyed.All(charges, start)
		for what, r := range map[string]limit.Result{"peeked": peeked, "refused": l.Take("k", 9, start), "covered": charges[1].Result} {
			if l.Refund("k", r, start) {
				t.Errorf("%s: what was %s is refunded", name, what)
			}
		}
		if !l.Refund("k", charges[0].Result, start) || l.Peek("k", 0, start).Remaining != 7 {
			t.Errorf("%s: what was charged is not refunded", name)
		}
	}
}

// Who recovers from a panic of what the store was made with does not wait for its lock for ever.
func TestPanicLeavesNoLock(t *testing.T) {
	s := keyed.New[string](leaky(t, "1r/s", 0), keyed.Options[string]{Clone: func(string) string { panic("no memory") }})
	ways := map[string]func(){
		"Take": func() { s.Take("k", 1, start) },
		"All": func() {
			keyed.All([]keyed.Charge[string]{{Limiter: s, Key: "k", N: 1}, {Limiter: s, Key: "l", N: 1}}, start)
		},
	}
	for name, way := range ways {
		func() {
			defer func() { _ = recover() }()
			way()
			t.Errorf("%s does not panic", name)
		}()
		for _, key := range []string{"k", "l"} {
			if lock := s.Place(key).Lock; !lock.TryLock() {
				t.Errorf("%s leaves the lock of %s locked", name, key)
			} else {
				lock.Unlock()
			}
		}
	}
}

func TestWithSharesStates(t *testing.T) {
	l := share(t, "1r/s", 99, 4)
	wide := keyed.New[string](l[0], keyed.Options[string]{})
	narrow := wide.With(l[1])
	if got := allowed(wide, "a", 100, start); got != 100 {
		t.Fatalf("%d passed, want 100", got)
	}
	if r := narrow.Take("a", 1, start); r.Allowed || r.RetryAfter != 96*time.Second {
		t.Errorf("the debt of the other limit is not seen: %+v", r)
	}
	if r := narrow.Take("a", 1, start+96*time.Second); !r.Allowed {
		t.Errorf("after RetryAfter: %+v", r)
	}
}

// Keys that are views of a buffer are copied where they are kept.
func TestClone(t *testing.T) {
	s := keyed.New[string](leaky(t, "1r/s", 0), keyed.Options[string]{Clone: strings.Clone})
	buffer := []byte("a")
	s.Take(unsafe.String(&buffer[0], 1), 1, start)
	buffer[0] = 'b'
	if s.Peek("a", 1, start).Allowed || !s.Peek("b", 1, start).Allowed {
		t.Error("a key changes with the buffer that it was in")
	}
}

// A key that owes nothing makes room, so that a store holds about what owes something.
func TestCase02DrainedKeysMakeRoom(t *testing.T) {
	s := keyed.New[int](leaky(t, "10r/s", 0), keyed.Options[int]{MaxKeys: 100_000, Shards: 1})
	for i := range 50_000 {
		s.Take(i, 1, start+time.Duration(i)*time.Millisecond) // 100 owe something at a time
	}
	got := s.Counters()
	if got.Keys > 250 || got.EvictedLive != 0 || got.EvictedDrained != 50_000-got.Keys {
		t.Errorf("counted %+v", got)
	}
}

// After a flood a store gets as small again as if there had been none.
func TestStoreShrinksAfterAFlood(t *testing.T) {
	s := keyed.New[int](leaky(t, "10r/s", 9), keyed.Options[int]{MaxKeys: 10_000, Shards: 1})
	for i := range 20_000 {
		s.Take(-i, 10, start)
	}
	full := s.Counters()
	for i := range 20_000 {
		s.Take(1+i, 1, start+time.Hour+time.Duration(i)*time.Millisecond) // 100 owe something at a time
	}
	if got := s.Counters(); full.Keys != 10_000 || got.Keys > 250 || got.EvictedLive != full.EvictedLive {
		t.Errorf("counted %+v, then %+v", full, got)
	}
}

func TestFullStoreForgetsDrainedFirst(t *testing.T) {
	s := keyed.New[int](leaky(t, "1r/s", 9), keyed.Options[int]{MaxKeys: 10, Shards: 1})
	for i := range 10 {
		s.Take(i, uint64(i+1), start) // key i owes i+1 s
	}
	// The hand looked at key 0 once for each of keys 1 to 9 and went round.
	s.Take(100, 10, start+time.Second) // key 0 owes nothing any more
	want := keyed.Counters{Keys: 10, Allowed: 11, EvictedDrained: 1}
	if got := s.Counters(); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	if r := s.Peek(9, 1, start+time.Second); r.Remaining != 0 {
		t.Errorf("a key that owes was forgotten: %+v", r)
	}
}

// Of 10 that owe something the one that owes the least goes, and that is counted.
func TestCase23EvictionOfALiveKeyIsCounted(t *testing.T) {
	s := keyed.New[int](leaky(t, "1r/s", 9), keyed.Options[int]{MaxKeys: 10, Shards: 1})
	var gone []limit.State
	s.OnEvict(func(e keyed.Evicted[limit.State]) {
		if owes := e.Debt(e.State); owes != time.Second {
			t.Errorf("evicted with a debt of %s", owes)
		}
		gone = append(gone, e.State)
	})
	for i := range 10 {
		s.Take(i, uint64(10-i), start)
	}
	s.Take(100, 5, start)
	want := keyed.Counters{Keys: 10, Allowed: 11, EvictedLive: 1}
	if got := s.Counters(); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	least := leaky(t, "1r/s", 9).Fresh(start)
	least.TAT += uint64(time.Second)
	if len(gone) != 1 || gone[0] != least {
		t.Errorf("evicted %v, want %v", gone, least)
	}
	if r := s.Peek(0, 1, start); r.Allowed {
		t.Errorf("the key that owes the most was forgotten: %+v", r)
	}
	if r := s.Peek(9, 10, start); !r.Allowed {
		t.Errorf("the key that owes the least is still there: %+v", r)
	}
}

func TestNeverMoreThanMaxKeys(t *testing.T) {
	for _, tt := range []struct{ keys, shards uint64 }{{1000, 1}, {1000, 8}, {1, 8}} {
		keys, shards := tt.keys, tt.shards
		s := keyed.New[int](leaky(t, "1r/h", 9), keyed.Options[int]{MaxKeys: int(keys), Shards: int(shards)})
		random := rand.New(rand.NewPCG(1, 1))
		for range 20_000 {
			s.Take(random.IntN(5000), 1, start)
		}
		got := s.Counters()
		if got.Keys < keys || got.Keys > keys+shards-1 {
			t.Errorf("%d shards: %d keys", shards, got.Keys)
		}
		if got.EvictedLive == 0 || got.EvictedDrained != 0 {
			t.Errorf("%d shards: counted %+v", shards, got)
		}
	}
}

// A clock that is set back by an hour neither locks out nor gives a second burst.
func TestCase40ClockIsSetBack(t *testing.T) {
	for _, jump := range []time.Duration{-time.Hour, -2 * time.Second, -start} {
		s := keyed.New[string](leaky(t, "1r/s", 4), keyed.Options[string]{})
		allowed(s, "a", 5, start)
		if got := allowed(s, "a", 5, start+jump); got != 0 {
			t.Errorf("set by %s: %d passed at once", jump, got)
		}
		if got := allowed(s, "a", 5, start+jump+2*time.Second); got != 2 {
			t.Errorf("set by %s: %d passed after 2 s, want 2", jump, got)
		}
	}
}

// Set forth and back, a key has had the time between, once.
func TestClockIsSetForthAndBack(t *testing.T) {
	s := keyed.New[string](leaky(t, "1r/s", 4), keyed.Options[string]{})
	passed := allowed(s, "a", 10, start) + allowed(s, "a", 10, start+time.Hour)
	for i := range 10 {
		passed += allowed(s, "a", 10, start+time.Duration(i)*time.Second)
	}
	if passed != 5+5+9 {
		t.Errorf("%d passed, want 19", passed)
	}
}

func TestExtremeTimesAndCosts(t *testing.T) {
	extremes := []time.Duration{-1 << 63, -1 << 62, -1, 0, 1, 1 << 31, 1 << 62, 1<<63 - 1}
	s := keyed.New[string](leaky(t, "100000000r/s", 1<<31), keyed.Options[string]{})
	for _, now := range extremes {
		for _, n := range []uint64{0, 1, 1 << 31, 1<<31 + 1, 1 << 62, 1 << 63, 1<<64 - 1} {
			r := s.Take("a", n, now)
			if r.Remaining > r.Limit || r.Delay < 0 || r.ResetAfter < 0 || r.NextAfter < 0 || r.RetryAfter < limit.Never {
				t.Errorf("%d at %d: %+v", n, now, r)
			}
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	l := leaky(t, "1r/s", 1<<30)
	s := keyed.New[string](l, keyed.Options[string]{Clone: strings.Clone})
	slots := keyed.NewSlots[string](1, keyed.Options[string]{})
	s.Take("refused", 1<<30, start)
	slots.Take("refused", 1, start)
	charges := []keyed.Charge[string]{{Limiter: s, Key: "a", N: 1}, {Limiter: s.With(l), Key: "b", N: 1}, {Limiter: slots, Key: "a", N: 1}}
	ways := map[string]func(){
		"allowed":         func() { s.Take("a", 1, start) },
		"refused":         func() { s.Take("refused", 3, start) },
		"peek":            func() { s.Peek("a", 1, start) },
		"slots":           func() { slots.Refund("a", slots.Take("a", 1, start), start) },
		"slots, refused":  func() { slots.Take("refused", 1, start) },
		"all":             func() { keyed.All(charges, start); slots.Refund("a", charges[2].Result, start) },
		"refund":          func() { s.Refund("a", s.Take("a", 1, start), start) },
		"more than limit": func() { s.Take("a", 1<<40, start) },
	}
	for name, way := range ways {
		if n := testing.AllocsPerRun(100, way); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func ExampleStore() {
	perKey, _ := limit.NewWindow(2, time.Minute)
	s := keyed.New[string](perKey, keyed.Options[string]{MaxKeys: 10_000})
	now := 30 * time.Second // since an instant of your choice
	for range 3 {
		r := s.Take("203.0.113.7", 1, now)
		fmt.Println(r.Allowed, r.Remaining, r.RetryAfter)
	}
	// Output:
	// true 1 0s
	// true 0 0s
	// false 0 1m0s
}
