package redisstore

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/shared"
)

func leakyLimit(count uint64, per time.Duration, burst uint64) shared.Limit {
	return shared.Limit{Algorithm: config.Leaky, Count: count, Per: per, Burst: burst, Delay: burst}
}

// TestRefusedLocally: what is refused is refused without a round trip until it may pass, with times that count down, and to the µs when
// Redis would.
func TestRefusedLocally(t *testing.T) {
	l, store := newLab(t, server(t), "hg")
	for algorithm, lim := range map[string]shared.Limit{
		"leaky":   leakyLimit(10, time.Second, 0),
		"window":  {Algorithm: config.Window, Count: 1, Per: 100 * time.Millisecond},
		"sliding": {Algorithm: config.Sliding, Count: 1, Per: 100*time.Millisecond - time.Microsecond},
	} {
		c := shared.Charge{Zone: algorithm, Limit: lim, Key: "k", N: 1}
		other := shared.Charge{Zone: "other", Limit: leakyLimit(1, time.Second, 99), Key: "k", N: 1}
		take(t, store, c)
		if allowed, got := take(t, store, other, c); allowed || !got[0].Known || got[1].Result.RetryAfter != 100*time.Millisecond {
			t.Errorf("%s: refused by Redis: %v, %+v", algorithm, allowed, got)
		}
		calls, refused := l.calls.Load(), store.Counters().RefusedLocally
		for i := range 9 {
			l.pass(10 * time.Millisecond)
			left := 100*time.Millisecond - time.Duration(i+1)*10*time.Millisecond
			allowed, got := take(t, store, other, c)
			if r := got[1].Result; allowed || r.Allowed || r.RetryAfter != left || r.ResetAfter < left || r.Remaining != 0 || !got[1].Known {
				t.Errorf("%s, %v before: %v, %+v", algorithm, left, allowed, got[1])
			}
			if want := (limit.Result{Allowed: true, Zone: "other", Limit: 100}); got[0].Known || got[0].Result != want {
				t.Errorf("%s: what was not asked: %+v", algorithm, got[0])
			}
		}
		l.pass(10*time.Millisecond - time.Microsecond)
		if allowed, _ := take(t, store, c); allowed {
			t.Errorf("%s: allowed 1 µs before", algorithm)
		}
		if n := l.calls.Load() - calls; n != 0 || store.Counters().RefusedLocally-refused != 10 {
			t.Errorf("%s: %d calls, %+v", algorithm, n, store.Counters())
		}
		l.pass(time.Microsecond)
		if allowed, got := take(t, store, c); !allowed {
			t.Errorf("%s: refused when it may pass: %+v", algorithm, got)
		}
	}
}

// TestAskedAgain: a refusal says nothing of fewer units, of other keys, zones or limits, nor of what is tried out.
func TestAskedAgain(t *testing.T) {
	addr := server(t)
	for name, change := range map[string]func(*shared.Charge){
		"as much":   func(*shared.Charge) {},
		"more":      func(c *shared.Charge) { c.N = 11 },
		"less":      func(c *shared.Charge) { c.N = 1 },
		"a key":     func(c *shared.Charge) { c.Key = "l" },
		"a zone":    func(c *shared.Charge) { c.Zone = "y" },
		"a burst":   func(c *shared.Charge) { c.Limit.Burst = 20 },
		"a rate":    func(c *shared.Charge) { c.Limit.Count = 2 },
		"tried out": func(c *shared.Charge) { c.DryRun = 1 },
	} {
		l, store := newLab(t, addr, name)
		c := shared.Charge{Zone: "z", Limit: leakyLimit(1, time.Hour, 9), Key: "k", N: 8}
		take(t, store, c)
		if allowed, _ := take(t, store, c); allowed {
			t.Fatal("16 of 10 units")
		}
		change(&c)
		calls := l.calls.Load()
		_, got := take(t, store, c)
		asked := l.calls.Load() - calls
		if known := name == "as much" || name == "more"; known != (asked == 0) {
			t.Errorf("%s: %d calls, %+v", name, asked, got)
		}
	}
}

// TestLimitChangedAndBack: a refusal says nothing of another rate, and is of no more use when that has changed what is owed.
func TestLimitChangedAndBack(t *testing.T) {
	l, store := newLab(t, server(t), "hg")
	c := shared.Charge{Zone: "z", Limit: leakyLimit(7, time.Hour, 1), Key: "k", N: 2}
	take(t, store, c)
	if c.N = 1; allowedOf(t, store, c) {
		t.Fatal("3 of 2 units")
	}
	other := c
	other.Limit = leakyLimit(1, time.Second, 0)
	l.pass(2 * time.Second)
	if !allowedOf(t, store, other) {
		t.Error("refused at another rate, by which all has drained")
	}
	l.pass(time.Second)
	if c.N = 2; !allowedOf(t, store, c) {
		t.Error("refused as if 2 units were owed")
	}
}

func allowedOf(tb testing.TB, s *Store, c shared.Charge) bool {
	tb.Helper()
	allowed, _ := take(tb, s, c)
	return allowed
}

// TestForget: a key that is forgotten is one never seen, on this machine at once, and on others within a minute.
func TestForget(t *testing.T) {
	l, here := newLab(t, server(t), "hg")
	there := l.store("hg")
	for name, lim := range slow {
		if name == "concurrent" {
			continue
		}
		c := shared.Charge{Zone: name, Limit: lim, Key: "k", N: 100, Batch: 1}
		take(t, here, c)
		for _, machine := range []*Store{here, there} {
			if allowed, _ := take(t, machine, c); allowed {
				t.Fatal("allowed")
			}
		}
		if known, err := here.Forget("tag", name, "k", lim); !known || err != nil {
			t.Errorf("%s: %v, %v", name, known, err)
		}
		if known, err := here.Forget("tag", name, "k", lim); known || err != nil {
			t.Errorf("%s again: %v, %v", name, known, err)
		}
		c.N = 50
		if allowed, _ := take(t, here, c); !allowed {
			t.Errorf("%s: refused here", name)
		}
		c.N = 100
		if allowed, _ := take(t, there, c); allowed {
			t.Errorf("%s: allowed there at once", name)
		}
		l.pass(believed)
		c.N = 40
		if allowed, _ := take(t, there, c); !allowed {
			t.Errorf("%s: refused there a minute later", name)
		}
	}
	if known, err := here.Forget("tag", "concurrent", "k", slow["concurrent"]); known || err != nil {
		t.Errorf("concurrent: %v, %v", known, err)
	}
}

// TestMemoryIsBounded: what a machine knows of keys is no more than so many, and of those most are still refused here.
func TestMemoryIsBounded(t *testing.T) {
	var m memory[refusal]
	seeds := newSeeds()
	for i := range 3 * remembered {
		m.put(seeds.of(fmt.Append(nil, i)), refusal{end: time.Duration(i)}, 0)
	}
	all := 0
	for i := range m.parts {
		all += len(m.parts[i].of)
	}
	if all != remembered {
		t.Errorf("%d keys, want %d", all, remembered)
	}
	late := 0
	for i := 2 * remembered; i < 3*remembered; i++ {
		if _, ok := m.get(seeds.of(fmt.Append(nil, i))); ok {
			late++
		}
	}
	if late < remembered*3/4 {
		t.Errorf("only %d of the %d that are refused longest are known", late, remembered)
	}
}

// TestRefusedInParallel is for the race detector: memory is used by all at once.
func TestRefusedInParallel(t *testing.T) {
	l, store := newLab(t, server(t), "hg")
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 300 {
				c := shared.Charge{Zone: "z", Limit: leakyLimit(1000, time.Second, 1), Key: fmt.Sprint(i % 10), N: 1, Batch: uint64(worker % 3)}
				if allowed, got := take(t, store, c); allowed && i%7 == 0 {
					store.Return("tag", got)
				}
				l.pass(100 * time.Microsecond)
			}
		})
	}
	all.Wait()
	n := store.Counters()
	if n.Decisions+n.RefusedLocally != 2400 || n.Errors != 0 {
		t.Errorf("%+v", n)
	}
}

func TestNoAllocation(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool forget")
	}
	l, store := newLab(t, server(t), "hg")
	charges := []shared.Charge{{Zone: "z", Limit: leakyLimit(1, time.Hour, 0), Key: "192.0.2.1", N: 1}}
	take(t, store, charges...)
	take(t, store, charges...)
	calls := l.calls.Load()
	if n := testing.AllocsPerRun(1000, func() {
		if allowed, err := store.Take("tag", charges, 0); allowed || err != nil {
			t.Error("allowed")
		}
	}); n >= 1 || l.calls.Load() != calls {
		t.Errorf("%v allocations, %d calls", n, l.calls.Load()-calls)
	}
}

// TestRefusalOfTwoRules: what one rule refuses, another that allows less of the zone at one instant refuses too without asking, and one that
// allows more is not kept from asking.
func TestRefusalOfTwoRules(t *testing.T) {
	l, store := newLab(t, server(t), "hg")
	of := func(burst uint64) shared.Charge {
		return shared.Charge{Zone: "z", Limit: leakyLimit(1, time.Hour, burst), Key: "k", N: 1}
	}
	for range 10 {
		take(t, store, of(9))
	}
	for _, test := range []struct {
		burst   uint64
		allowed bool
		calls   int64
	}{{9, false, 1}, {4, false, 0}, {9, false, 0}, {10, true, 1}, {4, false, 1}, {10, false, 0}, {11, true, 1}} {
		calls := l.calls.Load()
		allowed, _ := take(t, store, of(test.burst))
		if calls = l.calls.Load() - calls; allowed != test.allowed || calls != test.calls {
			t.Errorf("burst %d: allowed %v by %d calls, want %v by %d", test.burst, allowed, calls, test.allowed, test.calls)
		}
	}
}
