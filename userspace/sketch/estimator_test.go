package sketch_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headgate/headgate/userspace/sketch"
)

func newEstimator(t testing.TB, hashes, slots int, seed uint64) *sketch.Estimator {
	t.Helper()
	e, err := sketch.NewEstimator(sketch.EstimatorOptions{Hashes: hashes, Slots: slots, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The tests of pingora-limits 0.8.0.
func TestEstimatorVectors(t *testing.T) {
	const a, b = 'a', 'b'
	type step struct {
		key, n, want int64 // n below 0 is taken by Decr, and want not looked at
	}
	tests := []struct {
		name         string
		steps        []step
		reset        bool
		wantA, wantB int64
	}{
		{"incr", []step{{a, 1, 1}, {b, 1, 1}, {a, 2, 3}, {b, 2, 3}}, false, 3, 3},
		{"decr", []step{{a, 3, 3}, {b, 3, 3}, {a, -1, 0}, {b, -1, 0}}, false, 2, 2},
		{"get", []step{{a, 1, 1}, {a, 2, 3}, {b, 1, 1}, {b, 2, 3}}, false, 3, 3},
		{"reset", []step{{a, 1, 1}, {a, 2, 3}, {b, 1, 1}, {b, 2, 3}, {b, -1, 0}}, true, 0, 0},
		{"below 0, also for who shares a slot", []step{{a, 1, 1}, {a, -3, 0}}, false, -2, -2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := newEstimator(t, 8, 8, 1)
			for _, s := range test.steps {
				if s.n < 0 {
					e.Decr(uint64(s.key), -s.n)
				} else if got := e.Incr(uint64(s.key), s.n); got != s.want {
					t.Errorf("Incr(%c, %d) = %d, want %d", rune(s.key), s.n, got, s.want)
				}
			}
			if test.reset {
				e.Reset()
			}
			if gotA, gotB := e.Get(a), e.Get(b); gotA != test.wantA || gotB != test.wantB {
				t.Errorf("a %d, b %d; want %d, %d", gotA, gotB, test.wantA, test.wantB)
			}
		})
	}
}

const occurrences = 200_000

// zipf counts occurrences of up to 100,000 keys.
func zipf(seed uint64, count func(key uint64)) (truth map[uint64]int64) {
	keys := rand.NewZipf(rand.New(rand.NewPCG(seed, 0)), 1.1, 1, 100_000)
	truth = map[uint64]int64{}
	for range occurrences {
		key := keys.Uint64()
		truth[key]++
		count(key)
	}
	return truth
}

// An estimate is not below the truth, and above it by more than e/Slots of all counts for at most
// e^-Hashes of the keys.
func TestEstimatorErrorBound(t *testing.T) {
	for _, size := range []struct{ hashes, slots int }{{1, 512}, {2, 512}, {3, 1000}, {4, 1024}, {5, 300}} {
		e := newEstimator(t, size.hashes, size.slots, 63)
		truth := zipf(1, func(key uint64) { e.Incr(key, 1) })
		most := int64(math.E / float64(size.slots) * occurrences)
		beyond := 0
		for key, n := range truth {
			estimate := e.Get(key)
			if estimate < n {
				t.Fatalf("%+v: key %d: %d is below the true %d", size, key, estimate, n)
			}
			if estimate-n > most {
				beyond++
			}
		}
		if share, bound := float64(beyond)/float64(len(truth)), math.Exp(-float64(size.hashes)); share > bound {
			t.Errorf("%+v: %.4f of %d keys are wrong by more than %d; the bound is %.4f", size, share, len(truth), most, bound)
		}
	}
}

// Each pair of keys shares a slot of a row as often as two independent uniform numbers are equal:
// also keys that differ little, as addresses do.
func TestRowsArePairwiseIndependent(t *testing.T) {
	const slots, seeds = 16, 4096
	for _, pair := range [][2]uint64{{0, 1}, {1, 2}, {0, math.MaxUint64}, {1 << 63, 0}, {0xcb007107 << 32, 0xcb007108 << 32}} {
		shared := 0
		for seed := range uint64(seeds) {
			e := newEstimator(t, 1, slots, seed)
			e.Incr(pair[0], 1)
			shared += int(e.Get(pair[1]))
		}
		// 256 of 4096 are expected, with a standard deviation of 15.5.
		if shared < seeds/slots-62 || shared > seeds/slots+62 {
			t.Errorf("%x and %x share a slot under %d of %d seeds, want about %d", pair[0], pair[1], shared, seeds, seeds/slots)
		}
	}
}

func TestEstimatorSaturates(t *testing.T) {
	e := newEstimator(t, 2, 4, 1)
	for _, step := range []struct{ n, want int64 }{
		{math.MaxInt64 - 1, math.MaxInt64 - 1}, {1, math.MaxInt64}, {1, math.MaxInt64}, {math.MaxInt64, math.MaxInt64},
		{-1, math.MaxInt64 - 1}, {math.MinInt64, -2}, {math.MinInt64, math.MinInt64}, {-1, math.MinInt64},
	} {
		if got := e.Incr(7, step.n); got != step.want {
			t.Fatalf("Incr(%d) = %d, want %d", step.n, got, step.want)
		}
	}
	e.Reset()
	if e.Decr(7, math.MinInt64); e.Get(7) != math.MaxInt64 {
		t.Errorf("the smallest number taken from 0 leaves %d", e.Get(7))
	}
}

// The same seed places keys the same in each run: the number is part of the contract.
func TestEstimatorIsRepeatable(t *testing.T) {
	e := newEstimator(t, 1, 1<<20, 12345)
	e.Incr(1, 1)
	var found []uint64
	for key := uint64(2); len(found) < 2; key++ {
		if e.Get(key) == 1 {
			found = append(found, key)
		}
	}
	if want := [2]uint64{2226455, 2533442}; [2]uint64(found) != want {
		t.Errorf("keys %v share the slot of 1, want %v", found, want)
	}
}

// MystenLabs/sui#20245: with the same hashes everywhere, the same innocent key is refused everywhere.
// Here each node, or the same node after a change of the seed, has its own collisions.
func TestCase63SeedsHaveTheirOwnCollisions(t *testing.T) {
	const slots = 64
	collides := func(seed uint64) (keys map[uint64]bool) {
		e := newEstimator(t, 1, slots, seed)
		e.Incr(0, 1)
		keys = map[uint64]bool{}
		for key := uint64(1); key <= 64*slots; key++ {
			if e.Get(key) > 0 {
				keys[key] = true
			}
		}
		return keys
	}
	one, other := collides(1), collides(2)
	both := 0
	for key := range one {
		if other[key] {
			both++
		}
	}
	// One in 64 of the about 64 keys is expected.
	if len(one) < 32 || len(one) > 96 || both > 5 {
		t.Errorf("%d keys collide under one seed, %d of them under the other too", len(one), both)
	}
}

func TestEstimatorOptionsAreChecked(t *testing.T) {
	for o, want := range map[sketch.EstimatorOptions]string{
		{Hashes: -1}:                    "sketch: -1 hashes; use 1 to 16",
		{Hashes: 17}:                    "sketch: 17 hashes; use 1 to 16",
		{Slots: -1}:                     "sketch: -1 slots; use 1 to 16777216",
		{Slots: sketch.MostSlots + 1}:   "sketch: 16777217 slots; use 1 to 16777216",
		{Slots: 1, Hashes: 1, Seed: 99}: "",
		{}:                              "",
	} {
		_, err := sketch.NewEstimator(o)
		if _, again := sketch.NewInflight(o); errorText(again) != want || errorText(err) != want {
			t.Errorf("%+v: %v, %v; want %q", o, err, again, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
