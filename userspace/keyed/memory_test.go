package keyed_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
)

// heap returns how many bytes are in use that something refers to.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// 10 million keys that are never seen again do not take more memory than the first.
func TestCase68MemoryIsFlatUnderRandomKeys(t *testing.T) {
	random := newMixer(1)
	s := keyed.New[uint64](leaky(t, "1r/m", 0), keyed.Options[uint64]{MaxKeys: 100_000})
	keys := 10_000_000
	if raceEnabled {
		keys = 1_000_000 // ten times slower
	}
	var full uint64
	for i := range keys {
		s.Take(random(), 1, start+time.Duration(i)*time.Microsecond)
		if i == 200_000 {
			full = heap()
		}
	}
	grown := int64(heap()) - int64(full)
	if c := s.Counters(); c.Keys > 100_000+keyed.MostShards || c.Allowed != uint64(keys) {
		t.Errorf("counted %+v", c)
	}
	// The shards' slices may still have grown a little.
	if grown > 1<<20 {
		t.Errorf("%d bytes more than after the first 200,000", grown)
	}
	runtime.KeepAlive(s)
}

// At most 64 bytes a key beyond the key itself, whatever the algorithm.
func TestCase13BytesPerKey(t *testing.T) {
	const n = 240_000
	text := make([]string, n)
	for i := range text {
		text[i] = fmt.Sprintf("2001:db8::%x:%x", i>>16, i&0xffff)
	}
	o := keyed.Options[string]{MaxKeys: 2 * n, Clone: strings.Clone}
	limiters := map[string]func() keyed.Limiter[string]{
		"leaky":   func() keyed.Limiter[string] { return keyed.New[string](leaky(t, "1r/h", 0), o) },
		"window":  func() keyed.Limiter[string] { return keyed.New[string](must(limit.NewWindow(1, time.Hour)), o) },
		"sliding": func() keyed.Limiter[string] { return keyed.New[string](must(limit.NewSliding(1, time.Hour)), o) },
		"slots":   func() keyed.Limiter[string] { return keyed.NewSlots[string](1, o) },
	}
	for name, make := range limiters {
		before, bytes, most := heap(), 0, 0.0
		l := make()
		for i, key := range text {
			l.Take(key, 1, start)
			bytes += len(key)
			if i >= n/2 && i%(n/20) == 0 { // tables are fuller or emptier
				most = max(most, float64(int64(heap()-before)-int64(bytes))/float64(i))
			}
		}
		if c := l.Counters(); c.Keys != n {
			t.Errorf("%s: counted %+v", name, c)
		}
		t.Logf("%s: at most %.1f bytes a key beyond its text", name, most)
		if most > 64 {
			t.Errorf("%s: %.1f bytes a key beyond its text, want at most 64", name, most)
		}
		runtime.KeepAlive(l)
	}
	runtime.KeepAlive(text)
}

// newMixer returns a generator of numbers that do not repeat (SplitMix64).
func newMixer(seed uint64) func() uint64 {
	return func() uint64 {
		seed += 0x9e3779b97f4a7c15
		z := seed
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return z ^ z>>31
	}
}
