package redisstore

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/redisconn"
	"github.com/headgate/headgate/userspace/shared"
)

// TestBatch: a key that is asked for often costs a round trip for each batch, and passes exactly as often as the limit says.
func TestBatch(t *testing.T) {
	l, store := newLab(t, server(t), "hg")
	for name, lim := range map[string]shared.Limit{
		"leaky": leakyLimit(1, time.Hour, 99), "window": {Algorithm: config.Window, Count: 100, Per: time.Hour},
		"sliding": {Algorithm: config.Sliding, Count: 100, Per: time.Hour},
	} {
		before, calls := store.Counters(), l.calls.Load()
		for i := range 101 {
			c := shared.Charge{Zone: name, Limit: lim, Key: "k", N: 1, Batch: 10}
			allowed, got := take(t, store, c)
			if allowed != (i < 100) {
				t.Fatalf("%s, request %d: %+v", name, i, got)
			}
			if r := got[0].Result; i < 100 && (!r.Allowed || !got[0].Known || r.Limit != 100) {
				t.Errorf("%s, request %d: %+v", name, i, got)
			}
		}
		// 9 requests, and the tenth with 10 more; 7 times one with 10 more, one with the last 3, and one that is refused.
		n := store.Counters()
		if calls = l.calls.Load() - calls; calls != 19 || n.BatchesTaken-before.BatchesTaken != 9 || n.FromBatch-before.FromBatch != 82 {
			t.Errorf("%s: %d calls, %+v", name, calls, n)
		}
	}
}

// TestBatchIsCutToWhatFits: wherever a batch meets the end of the limit, exactly as much as fits is taken.
func TestBatchIsCutToWhatFits(t *testing.T) {
	_, store := newLab(t, server(t), "hg")
	for most := uint64(10); most <= 30; most++ {
		passed := uint64(0)
		for range 20 {
			c := shared.Charge{Zone: "z", Limit: leakyLimit(1, time.Hour, most-1), Key: fmt.Sprint(most), N: 2, Batch: 5}
			if allowed, _ := take(t, store, c); allowed {
				passed += 2
			}
		}
		if want := most - 4; passed > most || passed < want { // what of a batch is not enough for a request is lost
			t.Errorf("%d units passed, want at most %d and at least %d", passed, most, want)
		}
	}
}

// TestBatchOfTwoRules: rules that allow more or less of a zone at one instant spend the same units.
func TestBatchOfTwoRules(t *testing.T) {
	l, store := newLab(t, server(t), "hg")
	request := func(burst uint64) []shared.Charge {
		_, got := take(t, store, shared.Charge{Zone: "z", Limit: leakyLimit(1, time.Hour, burst), Key: "k", N: 1, Batch: 10})
		return got
	}
	for i := range 30 {
		burst := []uint64{99, 49}[i%2]
		got := request(burst)[0].Result
		if want := burst - uint64(i); !got.Allowed || got.Remaining != want {
			t.Errorf("request %d: %+v, want that %d remain", i, got, want)
		}
	}
	if n := l.calls.Load(); n != 11 {
		t.Errorf("%d calls, want 9, and one for each 11 requests", n)
	}
}

// TestBatchTellsWhatIsLeft: what is told of units that were taken in advance is what Redis would have said without.
func TestBatchTellsWhatIsLeft(t *testing.T) {
	addr := server(t)
	l, with := newLab(t, addr, "with")
	without := l.store("without")
	for i := range 90 {
		c := shared.Charge{Zone: "z", Limit: leakyLimit(10, time.Second, 99), Key: "k", N: 1}
		c.Limit.Delay = 20
		_, want := take(t, without, c)
		c.Batch = 20
		_, got := take(t, with, c)
		if got[0].Result.WithUndo(0, 0) != want[0].Result.WithUndo(0, 0) {
			t.Fatalf("request %d:\n got %+v\nwant %+v", i, got[0].Result, want[0].Result)
		}
		l.pass(5 * time.Millisecond)
	}
	if n := with.Counters().FromBatch; n < 60 {
		t.Errorf("only %d from batches", n)
	}
}

// TestBatchEnds: units that are not spent are lost within a second, and with the window.
func TestBatchEnds(t *testing.T) {
	l, store := newLab(t, server(t), "hg")
	for name, test := range map[string]struct {
		limit shared.Limit
		lasts time.Duration
	}{
		"leaky":         {leakyLimit(1, time.Hour, 99), time.Second},
		"long window":   {shared.Limit{Algorithm: config.Window, Count: 100, Per: time.Hour}, time.Second},
		"short window":  {shared.Limit{Algorithm: config.Window, Count: 100, Per: time.Second / 2}, time.Second/2 - 100*time.Millisecond},
		"short sliding": {shared.Limit{Algorithm: config.Sliding, Count: 100, Per: time.Second / 2}, time.Second},
	} {
		c := shared.Charge{Zone: name, Limit: test.limit, Key: "k", N: 1, Batch: 2}
		take(t, store, c)
		l.pass(100 * time.Millisecond)
		take(t, store, c) // takes 2 more
		l.pass(test.lasts - time.Microsecond)
		calls := l.calls.Load()
		take(t, store, c)
		if l.calls.Load() != calls {
			t.Errorf("%s: asked before the end", name)
		}
		l.pass(time.Microsecond)
		if take(t, store, c); l.calls.Load() != calls+1 {
			t.Errorf("%s: not asked after the end", name)
		}
	}
}

// TestNoBatch: where Redis is asked anyway, or a key is seldom asked for, nothing is taken in advance.
func TestNoBatch(t *testing.T) {
	l, store := newLab(t, server(t), "hg")
	c := shared.Charge{Zone: "z", Limit: slow["leaky"], Key: "k", N: 1, Batch: 5}
	other := shared.Charge{Zone: "other", Limit: slow["leaky"], Key: "k", N: 1}
	for range 20 {
		take(t, store, c, other)
		take(t, store, c, c)
	}
	c.Key = "seldom"
	for range 20 {
		take(t, store, c)
		l.pass(time.Second)
	}
	if n := store.Counters(); n.BatchesTaken != 0 || n.FromBatch != 0 {
		t.Errorf("%+v", n)
	}
}

// TestBatchIsPutBack: units of a request that another limit refuses are spent by the next.
func TestBatchIsPutBack(t *testing.T) {
	l, store := newLab(t, server(t), "hg")
	hot := shared.Charge{Zone: "hot", Limit: slow["leaky"], Key: "k", N: 1, Batch: 5}
	for range 5 {
		take(t, store, hot) // the last takes 5 more
	}
	narrow := shared.Charge{Zone: "narrow", Limit: leakyLimit(1, time.Hour, 0), Key: "k", N: 1}
	for i := range 4 { // one passes, one is refused by Redis, others here
		if allowed, got := take(t, store, hot, narrow); allowed != (i == 0) || i > 0 && got[0].Known != (i == 1) {
			t.Fatalf("request %d: %v, %+v", i, allowed, got)
		}
	}
	tried := narrow
	tried.DryRun, hot.DryRun = 1, 1 // a group that is refused: its units are put back too
	if allowed, _ := take(t, store, hot, tried); !allowed {
		t.Fatal("refused by what is tried out")
	}
	hot.DryRun = 0
	calls := l.calls.Load()
	for i := range 5 {
		if take(t, store, hot); (l.calls.Load() == calls) != (i < 4) {
			t.Errorf("request %d: %d calls", i, l.calls.Load()-calls)
		}
	}
}

// TestBatchOfAnError: nothing that a failed call asked for is counted on, and no more than a batch is held.
func TestBatchOfAnError(t *testing.T) {
	l, store := newLab(t, server(t), "hg")
	c := shared.Charge{Zone: "z", Limit: slow["leaky"], Key: "k", N: 1, Batch: 4}
	for range 3 {
		take(t, store, c)
	}
	for range 3 {
		l.before = func(redisconn.Call) error { return redisconn.ErrTimeout }
		if _, err := store.Take("tag", []shared.Charge{c}, 0); err == nil {
			t.Fatal("no error")
		}
	}
	l.before = nil
	take(t, store, c)
	calls := l.calls.Load()
	for range 4 {
		take(t, store, c)
	}
	if l.calls.Load() != calls {
		t.Errorf("%d calls for the batch", l.calls.Load()-calls)
	}
}

// TestBatchBound: three machines that take in advance admit no more than the limit and a batch for each in any time, and in a window of
// Redis nothing more.
func TestBatchBound(t *testing.T) {
	addr := server(t)
	l, _ := newLab(t, addr, "")
	checks := 0
	rapid.Check(t, func(t *rapid.T) {
		checks++
		const batch, machines = 4, 3
		var stores []*Store
		for range machines {
			stores = append(stores, l.store(fmt.Sprint(checks)))
		}
		lim := rapid.SampledFrom([]shared.Limit{
			leakyLimit(100, time.Second, 9), {Algorithm: config.Window, Count: 20, Per: 100 * time.Millisecond},
		}).Draw(t, "limit")
		var passed []time.Duration
		for range 150 {
			c := []shared.Charge{{Zone: "z", Limit: lim, Key: "k", N: 1, Batch: batch}}
			allowed, err := stores[rapid.IntRange(0, machines-1).Draw(t, "machine")].Take("tag", c, 0)
			if err != nil {
				t.Fatal(err)
			}
			if allowed {
				passed = append(passed, micros(uint64(l.clock.Load())))
			}
			l.pass(time.Duration(rapid.IntRange(0, 6).Draw(t, "ms")) * time.Millisecond)
		}
		if lim.Algorithm == config.Window {
			inWindows(t, passed, lim)
		} else {
			inAnyTime(t, passed, lim, machines*batch)
		}
	})
}

// inAnyTime checks that over any time t no more than burst + 1 + rate*t passed, and so many more.
func inAnyTime(t *rapid.T, passed []time.Duration, lim shared.Limit, more int) {
	for i := range passed {
		for j := i; j < len(passed); j++ {
			drained := int((passed[j] - passed[i]) * time.Duration(lim.Count) / lim.Per)
			if most := int(lim.Burst) + 1 + drained + more; j-i+1 > most {
				t.Fatalf("%d passed from %v to %v, want at most %d", j-i+1, passed[i], passed[j], most)
			}
		}
	}
}

// inWindows checks that no more than the count passed in windows that begin with the first unit that none contains.
func inWindows(t *rapid.T, passed []time.Duration, lim shared.Limit) {
	for len(passed) > 0 {
		n := 0
		for n < len(passed) && passed[n] < passed[0]+lim.Per {
			n++
		}
		if n > int(lim.Count) {
			t.Fatalf("%d passed in the window from %v", n, passed[0])
		}
		passed = passed[n:]
	}
}

// TestBatchInParallel: of 64 parallel requests exactly as many pass as the limit says, and none of the units is lost.
func TestBatchInParallel(t *testing.T) {
	_, store := newLab(t, server(t), "hg")
	lim := slow["window"]
	lim.Count = 1000
	one := func(int) bool {
		allowed, err := store.Take("tag", []shared.Charge{{Zone: "z", Limit: lim, Key: "k", N: 1, Batch: 10}}, 0)
		if err != nil {
			t.Error(err)
		}
		return allowed
	}
	passed := inParallel(1500, one)
	for range 20 { // what was got when all others had been refused
		if one(0) {
			passed++
		}
	}
	if passed != 1000 {
		t.Errorf("%d passed, want 1000", passed)
	}
}
