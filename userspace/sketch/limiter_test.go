package sketch_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
	notation "github.com/headgate/headgate/userspace/rate"
	"github.com/headgate/headgate/userspace/sketch"
)

const start = 1000 * time.Hour

func leaky(t testing.TB, text string, burst uint64) limit.Leaky {
	t.Helper()
	r, err := notation.ParseRequests(text)
	if err != nil {
		t.Fatal(err)
	}
	l, err := limit.NewLeaky(r, burst, burst)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// compile returns limits of 1r/s that share states, with a delay of each request beyond the rate.
func compile(t testing.TB, bursts ...uint64) []limit.Leaky {
	t.Helper()
	r, err := notation.ParseRequests("1r/s")
	if err != nil {
		t.Fatal(err)
	}
	var specs []limit.LeakySpec
	for _, burst := range bursts {
		specs = append(specs, limit.LeakySpec{Rate: r, Burst: burst})
	}
	all, err := limit.CompileLeaky(specs)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func options[K comparable](maxKeys, lines int) sketch.Options[K] {
	return sketch.Options[K]{Keys: keyed.Options[K]{Name: "zone", MaxKeys: maxKeys, Shards: 1}, Lines: lines}
}

// With room for all, it says of each key what exact buckets do, though lines are shared by many.
func TestLimiterEqualsExactBuckets(t *testing.T) {
	l := leaky(t, "10r/s", 5)
	rapid.Check(t, func(t *rapid.T) {
		two := sketch.NewLimiter(l, options[int](10_000, 1))
		exact := keyed.New[int](l, keyed.Options[int]{Name: "zone"})
		now := start
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(0, 100).Draw(t, "ms")) * time.Millisecond
			key := rapid.IntRange(0, 999).Draw(t, "key")
			if rapid.Bool().Draw(t, "often") {
				key %= 3
			}
			n := rapid.Uint64Range(0, 7).Draw(t, "n")
			want := exact.Peek(key, n, now)
			if got := two.Peek(key, n, now); got.WithUndo(0, 0) != want.WithUndo(0, 0) {
				t.Fatalf("Peek says %+v, want %+v", got, want)
			}
			got := two.Take(key, n, now)
			want = exact.Take(key, n, now)
			if got.WithUndo(0, 0) != want.WithUndo(0, 0) {
				t.Fatalf("Take says %+v, want %+v", got, want)
			}
			if rapid.IntRange(0, 3).Draw(t, "refund") == 0 && two.Refund(key, got, now) != exact.Refund(key, want, now) {
				t.Fatalf("Refund of %+v", want)
			}
		}
		if c := two.Counters(); c.EvictedLive != 0 {
			t.Fatalf("counted %+v", c)
		}
	})
}

func TestLightKeysTakeNoExactBucket(t *testing.T) {
	s := sketch.NewLimiter(leaky(t, "1r/s", 9), options[int](1000, 1<<14))
	for key := range 10_000 {
		s.Take(key, 4, start)
		s.Take(key, 1, start) // half of the burst
	}
	light := s.Counters().Keys
	s.Take(-1, 6, start)
	if got := s.Counters().Keys; light > 100 || got != light+1 {
		// Of 10,000 keys in 65,536 cells some find their line full.
		t.Errorf("%d light keys have exact buckets, with a heavy one %d", light, got)
	}
}

// One unit is light also where it is more than half of the burst.
func TestOneUnitIsLight(t *testing.T) {
	s := sketch.NewLimiter(leaky(t, "1r/s", 0), options[int](10, 1))
	s.Take(1, 1, start)
	if got := s.Counters().Keys; got != 0 {
		t.Errorf("%d exact buckets, want 0", got)
	}
}

// Two million addresses are made up while people go on as usual and one client sends ten
// times what he may: none of the people is refused, and he gets no more than his limit.
func TestCase64FloodHurtsNobodyElse(t *testing.T) {
	const people, steps = 100, 1000
	flood := 2000
	if raceEnabled {
		flood = 1500
	}
	s := sketch.NewLimiter(leaky(t, "10r/s", 9), sketch.Options[uint64]{Keys: keyed.Options[uint64]{MaxKeys: 4096}})
	random := rand.New(rand.NewPCG(1, 2))
	heavy := 0
	for step := range steps {
		now := start + time.Duration(step)*10*time.Millisecond // 10 s in all
		for range flood {
			s.Take(random.Uint64()|1<<63, 1, now)
		}
		if s.Take(1000, 1, now).Allowed { // 100 a second
			heavy++
		}
		for person := range uint64(people) {
			if step%10 == int(person%10) { // 10 a second
				if !s.Take(person, 1, now).Allowed {
					t.Fatalf("person %d is refused at %s", person, now-start)
				}
			}
		}
	}
	if most := 10 + 10*10; heavy > most || heavy < most-10 {
		t.Errorf("%d of the heavy client passed, want %d", heavy, most)
	}
	c := s.Counters()
	if c.Keys > 4096+keyed.MostShards || c.EvictedLive == 0 {
		t.Errorf("counted %+v", c)
	}
}

// Of two keys that owe, in a place for one, the heavier is remembered, and what it owes.
func TestWhatOwesMoreIsRemembered(t *testing.T) {
	l := leaky(t, "1r/s", 9)
	s := sketch.NewLimiter(l, options[int](1, 1))
	s.Take(1, 10, start)
	for key := range 100_000 {
		s.Take(2+key, uint64(1+key%9), start+time.Duration(key))
	}
	got := s.Peek(1, 1, start)
	if got.Allowed || got.RetryAfter < 900*time.Millisecond {
		t.Errorf("the heaviest of 100,000 keys: %+v", got)
	}
	if c := s.Counters(); c.Keys != 1 || c.EvictedLive == 0 {
		t.Errorf("counted %+v", c)
	}
	heavy := 0
	for key := 8; key < 100_000; key += 9 {
		if s.Peek(2+key, 1, start+100_000).Remaining < 2 {
			heavy++
		}
	}
	if heavy < 4*128-1 { // one of the cells may be the heaviest key's
		t.Errorf("%d keys are remembered that owe 9 units, want all cells", heavy)
	}
}

// What a line or the second tier has no room for is counted, and nothing else is lost: also where a key goes up
// and pushes another down into its own line.
func TestWhatIsForgottenIsCounted(t *testing.T) {
	const keys = 1000
	s := sketch.NewLimiter(leaky(t, "1r/h", 9), options[int](1, 1))
	random := rand.New(rand.NewPCG(1, 4))
	var begun, kept uint64
	for range 20 * keys {
		key := random.IntN(keys)
		if s.Peek(key, 0, start).Remaining == 10 {
			begun++
		}
		s.Take(key, 1+random.Uint64N(3), start)
	}
	for key := range keys {
		if s.Peek(key, 0, start).Remaining < 10 {
			kept++
		}
	}
	if c := s.Counters(); begun != kept+c.EvictedLive || kept > 4*128+1 || kept < 400 {
		t.Errorf("of %d states %d are kept, counted %+v", begun, kept, c)
	}
}

// A clock that is set back by an hour neither locks out nor gives a second burst, in either tier.
func TestLimiterClockIsSetBack(t *testing.T) {
	s := sketch.NewLimiter(leaky(t, "1r/s", 9), options[string](10, 1))
	for key, n := range map[string]uint64{"light": 5, "heavy": 10} {
		s.Take(key, n, start)
		if got := s.Take(key, 0, start-time.Hour).Remaining; got != 10-n {
			t.Errorf("%s, set back: %d remain, want %d", key, got, 10-n)
		}
		if got := s.Take(key, 0, start-time.Hour+2*time.Second).Remaining; got != 12-n {
			t.Errorf("%s, 2 s later: %d remain, want %d", key, got, 12-n)
		}
	}
}

func TestLimiterCountsWhatItDecides(t *testing.T) {
	s := sketch.NewLimiter(leaky(t, "1r/h", 9), options[int](10, 1))
	for key := range 1000 {
		s.Take(key, 0, start) // asks for the state
	}
	s.Take(1, 1, start)
	s.Take(1, 10, start)
	s.Peek(1, 10, start)
	keyed.All([]keyed.Charge[int]{{Limiter: s, Key: 1, N: 10}, {Limiter: s, Key: 2, N: 10}}, start)
	keyed.All([]keyed.Charge[int]{{Limiter: s, Key: 2, N: 10}, {Limiter: s, Key: 3, N: 1}}, start)
	if got, want := s.Counters(), (keyed.Counters{Keys: 1, Allowed: 1003, Refused: 2}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

func TestCase66MemoryIsConstant(t *testing.T) {
	keys := 10_000_000
	if raceEnabled {
		keys = 1_000_000
	}
	s := sketch.NewLimiter(leaky(t, "1r/m", 5), sketch.Options[uint64]{Keys: keyed.Options[uint64]{MaxKeys: 50_000}})
	random := rand.New(rand.NewPCG(1, 3))
	var early uint64
	for i := range keys {
		s.Take(random.Uint64(), 1, start)
		if i == keys/5 {
			early = heap()
		}
	}
	if grown := int64(heap()) - int64(early); grown > 1<<20 {
		t.Errorf("%d bytes more than after the first fifth", grown)
	}
	runtime.KeepAlive(s)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestLimiterInParallel(t *testing.T) {
	// Each lock has one line.
	s := sketch.NewLimiter(leaky(t, "1r/h", 99), sketch.Options[string]{Keys: keyed.Options[string]{Shards: keyed.MostShards}, Lines: 1})
	var passed atomic.Int64
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			for range 100 {
				for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} {
					if s.Take(key, 1, start).Allowed {
						passed.Add(1)
					}
				}
			}
		})
	}
	group.Wait()
	if passed.Load() != 1200 {
		t.Errorf("%d passed, want 1200", passed.Load())
	}
}

// Where the second tier is too small, keys come and go between the tiers and nothing is lost: each is in
// one of them at a time.
func TestDemotedKeysLoseNothing(t *testing.T) {
	limits := compile(t, 9, 3)
	rapid.Check(t, func(t *rapid.T) {
		two := sketch.NewLimiter(limits[0], options[int](3, 1<<12))
		exact := keyed.New[int](limits[0], keyed.Options[int]{Name: "zone"})
		twos, exacts := two.With(limits[1]), exact.With(limits[1])
		now := start
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(0, 500).Draw(t, "ms")) * time.Millisecond
			two, exact := two, exact
			if rapid.Bool().Draw(t, "other limit") {
				two, exact = twos, exacts
			}
			key := rapid.IntRange(0, 9).Draw(t, "key")
			n := rapid.Uint64Range(0, 8).Draw(t, "n")
			got, want := two.Take(key, n, now), exact.Take(key, n, now)
			if got.WithUndo(0, 0) != want.WithUndo(0, 0) {
				t.Fatalf("%d units of key %d: %+v, want %+v", n, key, got, want)
			}
			if rapid.Bool().Draw(t, "refund") && two.Refund(key, got, now) != exact.Refund(key, want, now) {
				t.Fatalf("refund of %+v", got)
			}
		}
		if c := two.Counters(); c.Keys > 3 || c.EvictedLive != 0 {
			t.Fatalf("counted %+v", c)
		}
	})
}

// Whoever is forgotten is counted, in whichever tier he was.
func TestLimiterCountsWhoIsForgotten(t *testing.T) {
	s := sketch.NewLimiter(leaky(t, "1r/s", 9), options[int](1000, 1))
	s.Take(1, 10, start)
	s.Take(2, 1, start)
	for key := range 10_000 { // all of them drain the hour before the next comes
		s.Take(3+key, uint64(1+key%2*9), start+time.Duration(1+key)*time.Hour)
	}
	c := s.Counters()
	// What is not forgotten has one of 4*128 cells or an exact bucket.
	if c.EvictedLive != 0 || c.EvictedDrained+c.Keys > 10_002 || c.EvictedDrained+c.Keys < 10_002-512 {
		t.Errorf("counted %+v", c)
	}
}

// A result of what was not charged takes back nothing, though others were charged as much.
func TestPeekedIsNotRefunded(t *testing.T) {
	s := sketch.NewLimiter(leaky(t, "1r/h", 9), options[string](10, 1))
	for _, n := range []uint64{1, 6} { // in the first tier, in the second
		peeked := s.Peek("a", n, start)
		r := s.Take("a", n, start)
		if s.Refund("a", peeked, start) || !s.Refund("a", r, start) || s.Peek("a", n, start).Remaining != r.Remaining {
			t.Errorf("of %d units something else is refunded than what was charged", n)
		}
		s.Take("a", n, start)
	}
}

func TestLimiterWith(t *testing.T) {
	l := compile(t, 9, 2)
	wide := sketch.NewLimiter(l[0], options[string](10, 1))
	narrow := wide.With(l[1])
	wide.Take("a", 5, start)
	if got := narrow.Take("a", 1, start); got.Allowed || got.RetryAfter != 3*time.Second {
		t.Errorf("the debt of the other limit is not seen: %+v", got)
	}
}

// With others it is charged all or none.
func TestLimiterIsPartOfAll(t *testing.T) {
	s := sketch.NewLimiter(leaky(t, "1r/s", 9), options[string](10, 1))
	shut := keyed.New[string](leaky(t, "1r/s", 0), keyed.Options[string]{})
	charges := []keyed.Charge[string]{{Limiter: s, Key: "a", N: 1}, {Limiter: shut, Key: "a", N: 1}}
	if !keyed.All(charges, start) || keyed.All(charges, start) {
		t.Error("not the first of two passes")
	}
	if got := s.Peek("a", 0, start); got.Remaining != 9 || got.Zone != "zone" {
		t.Errorf("%+v, want 9 remaining", got)
	}
}

func TestLimiterDoesNotAllocate(t *testing.T) {
	s := sketch.NewLimiter(leaky(t, "1r/s", 1<<30), options[string](10, 1))
	s.Take("heavy", 1<<30, start)
	for name, way := range map[string]func(){
		"light":   func() { s.Take("light", 1, start) },
		"heavy":   func() { s.Take("heavy", 1, start+1<<40) },
		"refused": func() { s.Take("heavy", 1<<30, start) },
		"peek":    func() { s.Peek("light", 1, start) },
	} {
		if n := testing.AllocsPerRun(100, way); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
