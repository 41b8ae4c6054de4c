package redisstore

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/redisconn"
	"github.com/headgate/headgate/userspace/shared"
)

// liar is a Conn that always says the same.
type liar string

func (l liar) Do(redisconn.Call, time.Duration) (string, error) { return string(l), nil }
func (l liar) Start(_ redisconn.Call, done func(string, error)) { done(string(l), nil) }

// requestOfAll is a request with a limit of each kind, one of which is tried out.
func requestOfAll() []shared.Charge {
	return []shared.Charge{
		{Zone: "l", Limit: shared.Limit{Algorithm: config.Leaky, Count: 3, Per: time.Second, Burst: 9}, N: 1, Batch: 5},
		{Zone: "w", Limit: shared.Limit{Algorithm: config.Window, Count: 3, Per: time.Second}, N: 1},
		{Zone: "s", Limit: shared.Limit{Algorithm: config.Sliding, Count: 3, Per: time.Second}, N: 1, DryRun: 1},
		{Zone: "c", Limit: shared.Limit{Algorithm: config.Concurrent, Count: 3}, N: 1},
	}
}

// said makes a reply.
func said(verdict byte, numbers ...uint64) string {
	b := []byte{verdict}
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return string(b)
}

// TestCase21Nonsense: whatever Redis answers, it is no panic, and no limit is taken to allow what it would not.
func TestCase21Nonsense(t *testing.T) {
	const now, tick, second = 1_700_000_000_000_000, 1_000_000, 1_000_000
	good := []uint64{now, 0, tick, 0, 0, 0, 0, second, 0, 0, 0, second, 0, 0, 0, 0, 0}
	if allowed, err := New(Options{Conn: liar(said('1', good...))}).Take("tag", requestOfAll(), 0); !allowed || err != nil {
		t.Fatalf("a good reply: %v, %v", allowed, err)
	}
	bad := map[string]string{
		"empty": "", "a word": "OK", "a number": "1", "no verdict": said('2', good...), "another verdict": said('0', good...),
		"short": said('1', good[:16]...), "long": said('1', append(good[:17:17], 0)...), "a place": "!", "place 0": "!0", "place 5": "!5",
		"no place": "!x", "a negative place": "!-1", "a row": said('1', good[:5]...),
	}
	for place, value := range map[int]uint64{
		0: 1 << 53, 1: 1 << 53, 2: 1, 3: 1, 4: 1, // leaky: the time, what is owed, in what, left of no window, more than were wanted
		5: 1 << 60, 6: 1, 7: second + 1, 8: 1, // window
		9: 1 << 63, 10: 1<<64 - 1, 11: 0, 12: 9, // sliding
		13: 3, 14: 1, 15: 1, // concurrent: full, but allowed
	} {
		numbers := append([]uint64(nil), good...)
		numbers[place] = value
		bad["number "+string(rune('a'+place))] = said('1', numbers...)
	}
	for name, reply := range bad {
		store := New(Options{Conn: liar(reply)})
		charges := requestOfAll()
		if allowed, err := store.Take("tag", charges, 0); allowed || !errors.Is(err, errNonsense) {
			t.Errorf("%s: %v, %v", name, allowed, err)
		}
		for _, c := range charges {
			if c.Lease != "" || c.Known {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if c := store.Counters(); c.Leases != 0 || c.Errors != 1 || c.Decisions != 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func FuzzReply(f *testing.F) {
	f.Add("")
	f.Add("!1")
	f.Add(said('1', make([]uint64, 17)...))
	f.Add(said('0', 1, 2, 1_000_000, 0, 5, 1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 0, 0))
	f.Fuzz(func(t *testing.T, reply string) {
		store, charges := New(Options{Conn: liar(reply)}), requestOfAll()
		allowed, err := store.Take("tag", charges, 0)
		for _, c := range charges {
			if err == nil && c.DryRun == 0 && allowed && !c.Result.Allowed {
				t.Errorf("allowed with %+v", c)
			}
			if r := c.Result; err == nil && (r.Remaining > r.Limit || r.ResetAfter < 0 || r.NextAfter < 0 || r.RetryAfter < -1 || r.Delay < 0) {
				t.Errorf("%+v", c)
			}
		}
		_ = store.Peek("tag", charges)
		_, _ = store.Forget("tag", "z", "k", charges[0].Limit)
		store.Return("tag", charges)
	})
}
