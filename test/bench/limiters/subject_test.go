package limiters

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate/headgate/test/bench/traffic"
)

func open(t *testing.T, s Subject, setup Setup) Limiter {
	t.Helper()
	l, end, err := s.Open(setup)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return l
}

// Each subject must mean the same by a limit, or another thing is measured of each.
func TestBurstIsExact(t *testing.T) {
	for _, s := range Subjects() {
		for _, burst := range []int{1, 2, 1000} {
			t.Run(s.Name, func(t *testing.T) {
				l := open(t, s, Setup{Burst: burst, Per: time.Hour, Keys: 10})
				for _, key := range []string{"a", "b"} {
					var allowed int
					for range burst + 5 {
						if l.Take(key) {
							allowed++
						}
					}
					want := burst
					if s.Waits {
						want += 5
					}
					if allowed != want {
						t.Errorf("burst %d: allowed %d of %d, want %d", burst, allowed, burst+5, want)
					}
				}
			})
		}
	}
}

// The limits that the benchmark uses must be within the range of each subject.
func TestHugeBurst(t *testing.T) {
	for _, s := range Subjects() {
		t.Run(s.Name, func(t *testing.T) {
			l := open(t, s, Setup{Burst: 50_000_000, Per: time.Minute, Keys: 10})
			for i := range 10_000 {
				if !l.Take("a") {
					t.Fatalf("refused request %d", i)
				}
			}
		})
	}
}

func TestKeysAreRemembered(t *testing.T) {
	const n, burst = 5000, 2
	keys := traffic.Shuffled(n)
	for _, s := range Subjects() {
		t.Run(s.Name, func(t *testing.T) {
			l := open(t, s, Setup{Burst: burst, Per: time.Hour, Keys: n})
			for i := range n * burst {
				if !l.Take(keys.At(i / burst)) {
					t.Fatalf("request %d of key %d is refused", i%burst, i/burst)
				}
			}
			for i := range n {
				if l.Take(keys.At(i)) != s.Waits {
					t.Fatalf("key %d: allowed = %v", i, !s.Waits)
				}
			}
			if c, ok := l.(Counter); ok && c.Keys() != n {
				t.Errorf("remembers %d keys, want %d", c.Keys(), n)
			}
		})
	}
}

func TestParallel(t *testing.T) {
	const burst, each = 100, 200
	for _, s := range Subjects() {
		t.Run(s.Name, func(t *testing.T) {
			l := open(t, s, Setup{Burst: burst, Per: time.Hour, Keys: 10})
			var allowed atomic.Int64
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					for range each {
						if l.Take("a") {
							allowed.Add(1)
						}
					}
				})
			}
			all.Wait()
			if !s.Waits && allowed.Load() != burst {
				t.Errorf("allowed %d, want %d", allowed.Load(), burst)
			}
		})
	}
}

func TestFind(t *testing.T) {
	var names []string
	for _, s := range Subjects() {
		if got, ok := Find(s.Name); !ok || got.Name != s.Name {
			t.Errorf("Find(%q) = %q, %v", s.Name, got.Name, ok)
		}
		names = append(names, s.Name)
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(Subjects()) {
		t.Error("two subjects have one name")
	}
	if _, ok := Find("none"); ok {
		t.Error("found a subject that there is not")
	}
	if reference, ok := Find(Reference); !ok || !reference.Ours || !reference.Bounded {
		t.Errorf("reference is %+v", reference)
	}
}
