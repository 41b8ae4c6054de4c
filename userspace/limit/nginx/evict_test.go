package nginx_test

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit/nginx"
)

// TestCase23Eviction: which keys are forgotten for a new one, and which of them got a fresh burst by that.
func TestCase23Eviction(t *testing.T) {
	tests := []struct {
		name      string
		rate      string
		room      int
		takes     string // keys, in order, at time 0
		then      int64  // ms, when the key "new" comes
		forgotten string
		counters  keyed.Counters
	}{
		{"room for all", "1r/s", 9, "abc", 59_999, "",
			keyed.Counters{Keys: 4, Allowed: 4}},
		{"two that were idle for a minute", "1r/s", 9, "abc", 60_000, "ab",
			keyed.Counters{Keys: 2, Allowed: 4, EvictedDrained: 2}},
		{"the ones not used for longest", "1r/s", 9, "abcab", 61_000, "ca",
			keyed.Counters{Keys: 2, Allowed: 6, EvictedDrained: 2}},
		{"only what has drained by itself", "1r/m", 9, "aaab", 60_000, "",
			keyed.Counters{Keys: 3, Allowed: 5}},
		{"a rate of 1r/m has not quite drained in a minute", "1r/m", 9, "ab", 60_000, "ab",
			keyed.Counters{Keys: 1, Allowed: 3, EvictedLive: 2}},
		{"no room: the oldest, whatever it owes", "1r/s", 3, "aaabc", 0, "a",
			keyed.Counters{Keys: 3, Allowed: 6, EvictedLive: 1}},
		{"no room: the oldest that owes nothing", "1r/s", 3, "abc", 1_000, "a",
			keyed.Counters{Keys: 3, Allowed: 4, EvictedDrained: 1}},
		{"no room, and two were idle", "1r/s", 3, "abc", 60_000, "ab",
			keyed.Counters{Keys: 2, Allowed: 4, EvictedDrained: 2}},
		{"room for one", "1r/s", 1, "a", 0, "a",
			keyed.Counters{Keys: 1, Allowed: 2, EvictedLive: 1}},
		{"a clock that went back by a minute", "1r/s", 9, "ab", -60_000, "ab",
			keyed.Counters{Keys: 1, Allowed: 3, EvictedLive: 2}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			z := newZone(t, test.rate, nginx.Options[string]{MaxKeys: test.room})
			l := z.Limiter(5, nginx.NoDelay)
			for _, key := range test.takes {
				l.Take(string(key), 1, ms(boot))
			}
			l.Take("new", 1, ms(boot+test.then))
			if c := z.Counters(); c != test.counters {
				t.Errorf("counters %+v, want %+v", c, test.counters)
			}
			for _, key := range "abc" {
				if !strings.ContainsRune(test.takes, key) {
					continue
				}
				// A minute before, time stands still for what is remembered.
				known := l.Peek(string(key), 1, ms(boot-60_000)).Excess != 0
				if want := !strings.ContainsRune(test.forgotten, key); known != want {
					t.Errorf("%c is remembered: %v, want %v", key, known, want)
				}
			}
		})
	}
}

// TestManyKeys: a zone holds what it has room for, whatever comes, and knows the latest keys.
func TestManyKeys(t *testing.T) {
	const room = 5_000
	z := newZone(t, "1r/s", nginx.Options[string]{MaxKeys: room})
	l := z.Limiter(0, 0)
	for i := range 10 * room {
		if key := fmt.Sprint(i); !l.Take(key, 1, ms(boot)).Allowed || l.Take(key, 1, ms(boot)).Allowed {
			t.Fatalf("key %d: want the first allowed and the second refused", i)
		}
	}
	want := keyed.Counters{Keys: room, Allowed: 10 * room, Refused: 10 * room, EvictedLive: 9 * room}
	if c := z.Counters(); c != want {
		t.Errorf("counters %+v, want %+v", c, want)
	}
	if n := nginx.Nodes(z); n > room {
		t.Errorf("%d nodes for %d keys", n, room)
	}
	for i := range 10 * room {
		if known := !l.Peek(fmt.Sprint(i), 1, ms(boot)).Allowed; known != (i >= 9*room) {
			t.Fatalf("key %d: known %v", i, known)
		}
	}
}

// TestMemory: a key costs at most 64 bytes beyond itself.
func TestMemory(t *testing.T) {
	if got := nginx.NodeSize[string]() - unsafe.Sizeof("") + 2*4; got > 64 {
		t.Errorf("%d bytes a key", got)
	}
}

// TestClone: a key that is a view of a buffer is copied where it is kept, and only there.
func TestClone(t *testing.T) {
	clones := 0
	z := newZone(t, "1r/s", nginx.Options[string]{Clone: func(k string) string {
		clones++
		return string([]byte(k))
	}})
	l := z.Limiter(1, 1)
	buffer := []byte("first")
	view := unsafe.String(&buffer[0], len(buffer))
	l.Take(view, 1, ms(boot))
	l.Take(view, 1, ms(boot))
	l.Take(view, 1, ms(boot))
	copy(buffer, "other")
	if clones != 1 {
		t.Errorf("%d copies of one key", clones)
	}
	if l.Peek("first", 1, ms(boot)).Allowed || !l.Peek("other", 1, ms(boot)).Allowed {
		t.Error("the key changed with the buffer")
	}
}

// A zone that may have more keys than it was made for finds each as fast as if it had been made for them, and loses none.
func TestMoreRoom(t *testing.T) {
	const keys = 10_000
	z := newZone(t, "1r/s", nginx.Options[string]{MaxKeys: 4})
	l := z.Limiter(5, nginx.NoDelay)
	take := func(from, to int) {
		for i := range to - from {
			l.Take(fmt.Sprint(from+i), 1, ms(boot))
		}
	}
	take(0, 4)
	z.Forget("1") // a free node is in no bucket
	z.SetMaxKeys(keys / 2)
	take(0, keys/2)
	z.SetMaxKeys(keys) // by now so many that some share a bucket
	take(0, keys)
	if c, want := z.Counters(), (keyed.Counters{Keys: keys, Allowed: keys + keys/2 + 4}); c != want {
		t.Errorf("counters %+v, want %+v", c, want)
	}
	if most := nginx.LongestChain(z); most > 16 { // with a bucket for each, 8 is usual
		t.Errorf("%d keys are in one bucket", most)
	}
	for i := range keys {
		if !z.Forget(fmt.Sprint(i)) {
			t.Fatalf("key %d is lost", i)
		}
	}
}
