package redisstore

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/shared"
)

// TestReturn: a charge that is taken back at once leaves what there was before, of all limits of the request, and nothing of a key that
// had nothing.
func TestReturn(t *testing.T) {
	l, store := newLab(t, server(t), "hg")
	request := func(n uint64) (all []shared.Charge) {
		for name, lim := range slow {
			all = append(all, shared.Charge{Zone: name, Limit: lim, Key: "k", N: n})
		}
		return all
	}
	_, got := take(t, store, request(3)...)
	store.Return("tag", got)
	if keys := l.keys(""); len(keys) > 0 {
		t.Errorf("left: %q", keys)
	}
	take(t, store, request(10)...)
	_, got = take(t, store, request(3)...)
	store.Return("tag", got)
	left := request(0)
	if err := store.Peek("tag", left); err != nil {
		t.Fatal(err)
	}
	for _, c := range left {
		if c.Result.Remaining != 90 {
			t.Errorf("%+v", c)
		}
	}
}

// TestReturnOnlyWhatWasCharged: nothing is given back of what was refused, covered by another charge of the key, or only tried out with
// others that refused.
func TestReturnOnlyWhatWasCharged(t *testing.T) {
	_, store := newLab(t, server(t), "hg")
	c := func(zone string, n uint64, dryRun int) shared.Charge {
		return shared.Charge{Zone: zone, Limit: slow["leaky"], Key: "k", N: n, DryRun: dryRun}
	}
	take(t, store, c("a", 10, 0), c("b", 10, 0), c("full", 100, 0))
	_, refused := take(t, store, c("a", 5, 0), c("full", 1, 0))
	store.Return("tag", refused)
	_, covered := take(t, store, c("a", 5, 0), c("a", 7, 0), c("a", 9, 1))
	store.Return("tag", covered)
	_, tried := take(t, store, c("b", 5, 1), c("full", 1, 1), c("a", 1, 0))
	store.Return("tag", tried)
	left := []shared.Charge{c("a", 0, 0), c("b", 0, 0), c("full", 0, 0)}
	if err := store.Peek("tag", left); err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint64{90, 90, 0} {
		if left[i].Result.Remaining != want {
			t.Errorf("%s: %d are left, want %d", left[i].Zone, left[i].Result.Remaining, want)
		}
	}
}

// TestReturnedMayPass: a key that was refused here is asked for again when something was given back.
func TestReturnedMayPass(t *testing.T) {
	_, store := newLab(t, server(t), "hg")
	c := shared.Charge{Zone: "z", Limit: slow["window"], Key: "k", N: 100}
	_, got := take(t, store, c)
	if allowed, _ := take(t, store, c); allowed {
		t.Fatal("allowed")
	}
	store.Return("tag", got)
	if allowed, _ := take(t, store, c); !allowed {
		t.Error("refused")
	}
}

// TestReturnOfABatch: a unit that was taken in advance is held again, once, and not given back to Redis.
func TestReturnOfABatch(t *testing.T) {
	l, store := newLab(t, server(t), "hg")
	c := shared.Charge{Zone: "z", Limit: slow["window"], Key: "k", N: 1, Batch: 2}
	take(t, store, c)
	take(t, store, c) // and 2 more
	_, got := take(t, store, c)
	calls := l.calls.Load()
	store.Return("tag", got)
	take(t, store, c)
	take(t, store, c)
	if l.calls.Load() != calls {
		t.Errorf("%d calls", l.calls.Load()-calls)
	}
	l.pass(held)
	store.Return("tag", got)
	if take(t, store, c); l.calls.Load() != calls+1 {
		t.Errorf("%d calls after it has ended", l.calls.Load()-calls)
	}
}

// TestReturnIsNoGain: whatever others do meanwhile, no more is left than if the charge had never been.
func TestReturnIsNoGain(t *testing.T) {
	addr := server(t)
	l, _ := newLab(t, addr, "")
	checks := 0
	rapid.Check(t, func(t *rapid.T) {
		checks++
		with, without := l.store(fmt.Sprint(checks)), l.store(fmt.Sprint(checks, "b"))
		lim := rapid.SampledFrom([]shared.Limit{
			leakyLimit(3, time.Second, 9), leakyLimit(1000, time.Second, 99),
			{Algorithm: config.Window, Count: 10, Per: time.Second}, {Algorithm: config.Sliding, Count: 10, Per: time.Second / 2},
		}).Draw(t, "limit")
		of := func(n uint64) []shared.Charge { return []shared.Charge{{Zone: "z", Limit: lim, Key: "k", N: n}} }
		request := func() []shared.Charge { return of(rapid.Uint64Range(1, 4).Draw(t, "n")) }
		pass := func() { // all within the windows that the first unit begins
			l.pass(time.Duration(rapid.IntRange(0, 110).Draw(t, "ms")) * time.Millisecond)
		}
		others := func() bool {
			for range rapid.IntRange(0, 3).Draw(t, "others") {
				c := request()
				a, err := with.Take("tag", c, 0)
				b, other := without.Take("tag", c, 0)
				if err != nil || other != nil || a && !b {
					t.Fatalf("%v, %v; allowed %v, without the charge %v", err, other, a, b)
				}
				if a != b {
					return false // from here on they are two stories
				}
				pass()
			}
			return true
		}
		if !others() {
			t.Fatal("refused, with no charge between them")
		}
		mine := request()
		if _, err := with.Take("tag", mine, 0); err != nil {
			t.Fatal(err)
		}
		pass()
		if !others() {
			return
		}
		with.Return("tag", mine)
		a, b := of(0), of(0)
		if with.Peek("tag", a) != nil || without.Peek("tag", b) != nil || a[0].Result.Remaining > b[0].Result.Remaining {
			t.Fatalf("left:\n%+v, without the charge\n%+v", a[0].Result, b[0].Result)
		}
	})
}

// TestReturnAfterTheClockWasSetBack: where it is not known how much has drained since, nothing is given back.
func TestReturnAfterTheClockWasSetBack(t *testing.T) {
	l, store := newLab(t, server(t), "hg")
	c := shared.Charge{Zone: "z", Limit: leakyLimit(1000, time.Second, 9), Key: "k", N: 5}
	_, got := take(t, store, c)
	l.pass(4 * time.Millisecond)
	c.N = 1
	take(t, store, c) // of the 5, 4 have drained
	l.setBack(3 * time.Millisecond)
	store.Return("tag", got)
	left := []shared.Charge{c}
	left[0].N = 0
	if err := store.Peek("tag", left); err != nil || left[0].Result.Remaining != 8 {
		t.Errorf("%v, %+v", err, left)
	}
}

// TestReturnAfterAnotherRate: what has drained at another rate since, and was charged again, is not given back.
func TestReturnAfterAnotherRate(t *testing.T) {
	l, store := newLab(t, server(t), "hg")
	c := shared.Charge{Zone: "z", Limit: leakyLimit(1, time.Hour, 9), Key: "k", N: 5}
	_, got := take(t, store, c)
	l.pass(10 * time.Millisecond)
	other := c
	other.Limit, other.N = leakyLimit(1000, time.Second, 9), 1
	take(t, store, other)
	store.Return("tag", got)
	left := []shared.Charge{c}
	left[0].N = 0
	if err := store.Peek("tag", left); err != nil || left[0].Result.Remaining != 9 {
		t.Errorf("%v, %+v", err, left)
	}
}

// TestReturnOfWhatBeganAWindow: where others followed, they would have begun it later, and what is given back would be theirs.
func TestReturnOfWhatBeganAWindow(t *testing.T) {
	const per = time.Hour
	window := shared.Limit{Algorithm: config.Window, Count: 100, Per: per}
	sliding := shared.Limit{Algorithm: config.Sliding, Count: 100, Per: per}
	for _, test := range []struct {
		name  string
		limit shared.Limit
		which int           // of the charges of 3 and 2 units is returned
		after time.Duration // them
		more  bool          // one unit is charged before that
		used  uint64
	}{
		{"window, the first", window, 0, 0, false, 5},
		{"window, the second", window, 1, 0, false, 3},
		{"window, ended", window, 1, per, true, 1},
		{"sliding, the first", sliding, 0, 0, false, 5},
		{"sliding, the second", sliding, 1, 0, false, 3},
		{"sliding, the first, a period later", sliding, 0, per, false, 5},
		{"sliding, the second, a period later", sliding, 1, per, false, 3},
		{"sliding, the second, with others a period later", sliding, 1, per, true, 4},
		{"sliding, two periods later", sliding, 1, 2 * per, true, 1},
	} {
		l, store := newLab(t, server(t), "hg")
		c := shared.Charge{Zone: "z", Limit: test.limit, Key: "k", N: 3}
		_, first := take(t, store, c)
		c.N = 2
		_, second := take(t, store, c)
		l.pass(test.after)
		if c.N = 1; test.more {
			take(t, store, c)
		}
		store.Return("tag", [][]shared.Charge{first, second}[test.which])
		left := []shared.Charge{c}
		left[0].N = 0
		if err := store.Peek("tag", left); err != nil || 100-left[0].Result.Remaining != test.used {
			t.Errorf("%s: %v, %d used, want %d", test.name, err, 100-left[0].Result.Remaining, test.used)
		}
	}
}

// TestReturnOfAllOfAPeriod: units that were all of a period are not given back once others came in the next, which would be elsewhere.
func TestReturnOfAllOfAPeriod(t *testing.T) {
	l, store := newLab(t, server(t), "hg")
	c := shared.Charge{Zone: "z", Limit: shared.Limit{Algorithm: config.Sliding, Count: 100, Per: time.Hour}, Key: "k", N: 3}
	_, first := take(t, store, c)
	l.pass(time.Hour)
	take(t, store, c)
	store.Return("tag", first)
	left := []shared.Charge{c}
	if err := store.Peek("tag", left); err != nil || left[0].Result.Remaining != 91 {
		t.Errorf("%v, %+v", err, left)
	}
}
