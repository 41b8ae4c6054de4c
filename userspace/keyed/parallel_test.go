package keyed_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
)

// together runs f in n goroutines that begin at the same time.
func together(n int, f func(i int)) {
	var ready, done sync.WaitGroup
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			ready.Wait()
			f(i)
		})
	}
	done.Wait()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// 20 goroutines ask for 500 units each; exactly the limit passes.
func TestCase29ExactlyTheLimitPassesInParallel(t *testing.T) {
	limiters := map[string]keyed.Limiter[string]{
		"leaky":   keyed.New[string](leaky(t, "1r/h", 999), keyed.Options[string]{}),
		"window":  keyed.New[string](must(limit.NewWindow(1000, time.Hour)), keyed.Options[string]{}),
		"sliding": keyed.New[string](must(limit.NewSliding(1000, time.Hour)), keyed.Options[string]{}),
		"slots":   keyed.NewSlots[string](1000, keyed.Options[string]{}),
	}
	for name, l := range limiters {
		var passed atomic.Int64
		together(20, func(int) { passed.Add(int64(allowed(l, "k", 500, start))) })
		if passed.Load() != 1000 {
			t.Errorf("%s: %d passed, want 1000", name, passed.Load())
		}
		if c := l.Counters(); c.Allowed != 1000 || c.Refused != 9000 || c.Keys != 1 {
			t.Errorf("%s: counted %+v", name, c)
		}
	}
}

// First requests of a key at once use the same bucket.
func TestFirstRequestsInParallel(t *testing.T) {
	s := keyed.New[int](leaky(t, "1r/h", 0), keyed.Options[int]{})
	var passed atomic.Int64
	together(8, func(int) {
		for key := range 2000 {
			if s.Take(key, 1, start).Allowed {
				passed.Add(1)
			}
		}
	})
	if passed.Load() != 2000 {
		t.Errorf("%d passed, want 2000", passed.Load())
	}
}

// Limits asked in all orders neither deadlock nor admit one too many: each key may 50, all together 150.
func TestCase11AtomicWithASharedLimit(t *testing.T) {
	perKey := keyed.New[string](leaky(t, "1r/h", 49), keyed.Options[string]{Shards: 4})
	shared := keyed.New[string](leaky(t, "1r/h", 149), keyed.Options[string]{})
	var passed atomic.Int64
	keys := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	together(8, func(i int) {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		for range 500 {
			charges := []keyed.Charge[string]{
				{Limiter: perKey, Key: keys[i], N: 1},
				{Limiter: shared, Key: "", N: 1},
				{Limiter: perKey, Key: keys[random.IntN(len(keys))] + "'", N: 0},
			}
			random.Shuffle(len(charges), func(i, j int) { charges[i], charges[j] = charges[j], charges[i] })
			if keyed.All(charges, start) {
				passed.Add(1)
			}
		}
	})
	var charged uint64
	for _, key := range keys {
		charged += 50 - perKey.Peek(key, 0, start).Remaining
	}
	if passed.Load() != 150 || charged != 150 {
		t.Errorf("%d passed and %d were charged to keys, want 150", passed.Load(), charged)
	}
}

// Never more than 3 are inside, and all slots are free at the end.
func TestSlotsInParallel(t *testing.T) {
	s := keyed.NewSlots[int](3, keyed.Options[int]{Shards: 2})
	var inside [4]atomic.Int64
	together(16, func(i int) {
		random := rand.New(rand.NewPCG(2, uint64(i)))
		for range 1000 {
			key := random.IntN(len(inside))
			r := s.Take(key, 1, start)
			if !r.Allowed {
				continue
			}
			if n := inside[key].Add(1); n > 3 {
				t.Errorf("%d are inside", n)
			}
			runtime.Gosched()
			inside[key].Add(-1)
			both := make(chan bool)
			go func() { both <- s.Refund(key, r, start) }()
			if s.Refund(key, r, start) == <-both {
				t.Error("not freed once")
			}
		}
	})
	for key := range inside {
		if r := s.Peek(key, 3, start); !r.Allowed {
			t.Errorf("key %d: %+v", key, r)
		}
	}
}
