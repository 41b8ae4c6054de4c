package adaptive

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Each bucket's middle is in it, and no latency is further from the middle than promised.
func TestBuckets(t *testing.T) {
	for i := range buckets {
		if got := bucket(middle(i)); got != i {
			t.Errorf("the middle %v of bucket %d is in bucket %d", middle(i), i, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		latency := time.Duration(rapid.Int64Range(0, int64(longest)*1000).Draw(t, "latency"))
		wrong := (middle(bucket(latency)) - latency).Abs()
		if wrong > max(latency/64+time.Microsecond, time.Microsecond) {
			t.Errorf("%v is taken for %v", latency, middle(bucket(latency)))
		}
	})
	for _, odd := range []time.Duration{-1, math.MinInt64, 0} {
		if bucket(odd) != 0 {
			t.Errorf("%v is in bucket %d", odd, bucket(odd))
		}
	}
	for _, long := range []time.Duration{longest * time.Microsecond, time.Hour, math.MaxInt64} {
		if bucket(long) != buckets-1 {
			t.Errorf("%v is in bucket %d of %d", long, bucket(long), buckets)
		}
	}
}

// Percentiles are those of the sorted latencies, but for the width of a bucket.
func TestPercentile(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 2, 99, 100, 101, 10_000} {
		var r recorder
		latencies := make([]time.Duration, n)
		for i := range latencies {
			latencies[i] = time.Duration(random.ExpFloat64() * float64(50*time.Millisecond))
			r.add(latencies[i])
		}
		slices.Sort(latencies)
		h := r.take()
		for _, p := range []float64{0.1, 50, 90, 99, 99.9, 100} {
			want := latencies[max(int(math.Ceil(float64(n)*p/100)), 1)-1]
			if got := h.percentile(p); bucket(got) != bucket(want) {
				t.Errorf("p%v of %d: %v, want %v", p, n, got, want)
			}
		}
	}
	if got := new(histogram).percentile(99); got != 0 {
		t.Errorf("of none: %v", got)
	}
}

func TestBeyondAndWithin(t *testing.T) {
	var r recorder
	for _, us := range []time.Duration{10, 50, 50, 60} {
		r.add(us * time.Microsecond)
	}
	h := r.take()
	for limit, want := range map[time.Duration]uint64{9: 4, 10: 3, 50: 1, 59: 1, 60: 0} {
		if got := h.beyond(limit * time.Microsecond); got != want {
			t.Errorf("%d beyond %d µs, want %d", got, limit, want)
		}
	}
	if got := h.within(55 * time.Microsecond); got != 165*time.Microsecond {
		t.Errorf("within 55 µs: %v", got)
	}
}

// What is added while a window ends is in that one or in the next: nothing is lost or counted twice.
func TestTakeWhileAdding(t *testing.T) {
	const each, writers = 20_000, 4
	c := New(configForTest(), Options{})
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for i := range each {
				c.Observe(500*(i%2), time.Duration(i)*time.Microsecond)
			}
		})
	}
	var answers uint64
	for i := range 50 {
		answers += c.Step(time.Duration(i+1) * time.Second).Answers
	}
	wg.Wait()
	answers += c.Step(time.Minute).Answers
	if answers != each*writers {
		t.Errorf("%d answers, want %d", answers, each*writers)
	}
}

func BenchmarkObserve(b *testing.B) {
	c := New(configForTest(), Options{})
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			c.Observe(200, time.Duration(i%1000)*time.Microsecond)
		}
	})
}
