package nginx_test

import (
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/limit/nginx"
)

// TestParallel: of many at once exactly burst+1 pass, and no two zones disagree.
func TestParallel(t *testing.T) {
	const goroutines, each, burst = 8, 20_000, 99_999
	z, y := newZone(t, "1r/s", nginx.Options[string]{}), newZone(t, "1r/m", nginx.Options[string]{})
	one, two := z.Limiter(burst, nginx.NoDelay), y.Limiter(burst, nginx.NoDelay)
	var alone, together atomic.Int64
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for range each {
				if one.Take("alone", 1, ms(boot)).Allowed {
					alone.Add(1)
				}
			}
			for range each {
				charges := []keyed.Charge[string]{{Limiter: one, Key: "k", N: 1}, {Limiter: two, Key: "k", N: 1}}
				if g%2 == 0 {
					charges[0], charges[1] = charges[1], charges[0]
				}
				if keyed.All(charges, ms(boot)) {
					together.Add(1)
				}
			}
		})
	}
	all.Wait()
	if alone.Load() != burst+1 || together.Load() != burst+1 {
		t.Errorf("%d and %d admitted, want %d each", alone.Load(), together.Load(), burst+1)
	}
	want := keyed.Counters{Keys: 2, Allowed: 2 * (burst + 1), Refused: 2*goroutines*each - 2*(burst+1)}
	a, b := z.Counters(), y.Counters()
	if a.Allowed != want.Allowed || b.Allowed != burst+1 || a.Refused+b.Refused != want.Refused {
		t.Errorf("counters %+v and %+v", a, b)
	}
}

// TestSharedZone: limits of one zone see the same keys, each with its own burst.
func TestSharedZone(t *testing.T) {
	z := newZone(t, "1r/s", nginx.Options[string]{Name: "perip"})
	wide, narrow := z.Limiter(5, 5), z.Limiter(1, 1)
	for range 4 {
		wide.Take("k", 1, ms(boot))
	}
	r := narrow.Take("k", 1, ms(boot))
	want := limit.Result{Zone: "perip", Limit: 2, NextAfter: 3 * time.Second, ResetAfter: 4 * time.Second,
		RetryAfter: 3 * time.Second, Excess: 4000}
	if r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
	if r := wide.Take("k", 1, ms(boot)); !r.Allowed || r.Remaining != 1 {
		t.Errorf("%+v", r)
	}
}

// TestSameHash: keys are told apart also where their hashes do not, and each is found when others of
// the same bucket were forgotten.
func TestSameHash(t *testing.T) {
	z := newZone(t, "1r/s", nginx.Options[string]{MaxKeys: 4})
	l := z.Limiter(0, 0)
	for i := range 40 {
		p := keyed.Place{Hash: uint64(i%3) << 16} // one bucket, and often the same hash
		key := strconv.Itoa(i)
		if r := nginx.Take(l, key, p, 1, ms(boot)); !r.Allowed {
			t.Fatalf("key %d is new and refused", i)
		}
		for known := max(0, i-3); known <= i; known++ {
			p := keyed.Place{Hash: uint64(known%3) << 16}
			if r := l.Look(strconv.Itoa(known), p, 1, ms(boot)); r.Allowed {
				t.Fatalf("key %d is known and allowed, after %d", known, i)
			}
		}
	}
}

// TestSetRate: a reload changes the rate and keeps the excess.
func TestSetRate(t *testing.T) {
	z := newZone(t, "1r/s", nginx.Options[string]{})
	l := z.Limiter(5, 5)
	for range 4 {
		l.Take("k", 1, ms(boot))
	}
	z.SetRate(2000)
	if r := l.Take("k", 1, ms(boot+1000)); r.Excess != 2000 {
		t.Errorf("excess %d, want 3000 + 1000 - 2000", r.Excess)
	}
	for rate, want := range map[nginx.Rate]uint64{
		0: 2000 + 1000 - 1, nginx.MaxRate + 1: 0, math.MaxUint64: 0, // the slowest lets 0.001 go in a second
	} {
		z.SetRate(rate)
		if r := l.Peek("k", 1, ms(boot+2000)); r.Excess != want {
			t.Errorf("excess %d at a rate of %d, want %d", r.Excess, uint64(rate), want)
		}
	}
}

// TestEdges: no number, however large, gives a fresh burst, a negative time or a panic.
func TestEdges(t *testing.T) {
	bursts := []uint64{0, 1, 1 << 31, nginx.MaxBurst - 1, nginx.MaxBurst, 1<<63 - 1, 1 << 63, math.MaxUint64}
	times := []time.Duration{0, 1, -1, time.Hour, -time.Hour, math.MaxInt64, math.MinInt64}
	for _, rate := range []nginx.Rate{1, 16, 1000, nginx.MaxRate} {
		for _, burst := range bursts {
			for _, now := range times {
				z, err := nginx.NewZone(rate, nginx.Options[string]{})
				if err != nil {
					t.Fatal(err)
				}
				l := z.Limiter(burst, 0)
				all := min(burst, nginx.MaxBurst) + 1
				first := l.Take("k", all, now)
				checkEdge(t, first)
				if !first.Allowed || first.Remaining != 0 {
					t.Fatalf("rate %v, burst %d, at %v: %+v", rate, burst, now, first)
				}
				for _, later := range times {
					for _, n := range bursts {
						r := l.Peek("k", n, later)
						checkEdge(t, r)
						if later <= now && n > 0 && r.Allowed && later > now-time.Minute {
							t.Fatalf("rate %v, burst %d, from %v to %v, %d units: %+v", rate, burst, now, later, n, r)
						}
					}
				}
			}
		}
	}
}

// TestExcessOfTooMany: the excess of more units than there can be stops at the largest number.
func TestExcessOfTooMany(t *testing.T) {
	l := newZone(t, "1r/s", nginx.Options[string]{}).Limiter(5, 5)
	l.Take("k", 1, ms(boot))
	tests := map[uint64]uint64{7: 7_000, math.MaxUint64/1000 - 1: (math.MaxUint64/1000 - 1) * 1000, math.MaxUint64: math.MaxUint64}
	for n, want := range tests {
		if r := l.Take("k", n, ms(boot)); r.Excess != want || r.RetryAfter != limit.Never {
			t.Errorf("%d units: %+v, want excess %d", n, r, want)
		}
	}
}

func checkEdge(t *testing.T, r limit.Result) {
	t.Helper()
	if r.Delay < 0 || r.ResetAfter < 0 || r.NextAfter < 0 || r.RetryAfter < limit.Never ||
		r.Remaining > r.Limit || r.Allowed && r.RetryAfter != 0 {
		t.Fatalf("%+v", r)
	}
}

// TestCase40ClockGoesBack: an hour back neither gives a second burst nor, as nginx has it, lets
// more pass than one millisecond frees.
func TestCase40ClockGoesBack(t *testing.T) {
	l := newZone(t, "10r/s", nginx.Options[string]{}).Limiter(5, 5)
	for range 6 {
		l.Take("k", 1, ms(boot))
	}
	for _, back := range []int64{1, 59_999, 60_000, 60_001, 3_600_000} {
		if r := l.Take("k", 1, ms(boot-back)); r.Allowed {
			t.Errorf("%d ms back: %+v", back, r)
		}
	}
	if r := l.Take("k", 1, ms(boot+100)); !r.Allowed {
		t.Errorf("forward again: %+v", r)
	}
}

// TestAllocations: no path of a known key allocates, nor that of a new one where others are forgotten.
func TestAllocations(t *testing.T) {
	keys := make([]string, 2000)
	for i := range keys {
		keys[i] = strconv.Itoa(i)
	}
	z := newZone(t, "1r/s", nginx.Options[string]{MaxKeys: 1000})
	open, closed := z.Limiter(1<<40, nginx.NoDelay), z.Limiter(0, 0)
	i := 0
	next := func() string { i++; return keys[i%len(keys)] }
	for range keys {
		open.Take(next(), 1, ms(boot))
	}
	tests := map[string]func(){
		"allowed": func() { open.Take("0", 1, ms(boot)) },
		"refused": func() { closed.Take("0", 1, ms(boot)) },
		"new key": func() { open.Take(next(), 1, ms(boot)) },
		"peek":    func() { open.Peek(next(), 1, ms(boot)) },
		"refund":  func() { open.Refund("0", open.Take("0", 1, ms(boot)), ms(boot)) },
	}
	for name, call := range tests {
		if n := testing.AllocsPerRun(1000, call); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	z := newZone(b, "1r/s", nginx.Options[string]{MaxKeys: 1 << 20})
	keys := make([]string, 1<<17)
	for i := range keys {
		keys[i] = strconv.Itoa(i * 7919)
	}
	limits := map[string]*nginx.Limiter[string]{
		"allowed": z.Limiter(nginx.MaxBurst, nginx.NoDelay), "refused": z.Limiter(0, 0)}
	for _, name := range []string{"allowed", "refused"} {
		for _, n := range []int{1, 1 << 17} {
			b.Run(name+"/"+strconv.Itoa(n), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					limits[name].Take(keys[i&(n-1)], 1, ms(boot))
				}
			})
		}
	}
}
