package resty_test

import (
	"strconv"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit/resty"
)

// The key that was used the longest time ago makes room, and it is counted whether it owed something.
func TestEvictionIsInOrderOfUseAndCounted(t *testing.T) {
	r := must[*resty.Req](t)(resty.NewReq(1, 5, resty.Options{MaxKeys: 3}))
	for _, key := range []string{"a", "b", "c"} {
		r.Incoming(key, true, 0)
	}
	r.Incoming("a", false, 0)                        // a peek is a use
	r.Incoming("d", true, 0)                         // for b, which owes
	r.Incoming("e", true, 1000*ms)                   // for c, which no longer does
	incoming(t, r, "a", 0, excess(second, 1))        // is known
	incoming(t, r, "b", 0, excess(0, 0))             // is not; for d, 1 s ahead of this clock or behind it
	checkIncoming(t, r, "d", false, 0, excess(0, 0)) // does not come back by a peek
	want := keyed.Counters{Keys: 3, Allowed: 7, EvictedLive: 2, EvictedDrained: 1}
	if diff := cmp.Diff(want, r.Counters()); diff != "" {
		t.Error(diff)
	}
}

func TestEvictionOfWindowsAndConnections(t *testing.T) {
	n := must[*resty.Count](t)(resty.NewCount(1, second, resty.Options{MaxKeys: 1}))
	c := must[*resty.Conn](t)(resty.NewConn(1, 0, second, resty.Options{MaxKeys: 1}))
	for i, now := range []time.Duration{0, 999 * ms, 1999 * ms, 2000 * ms} {
		n.Incoming(strconv.Itoa(i), true, now)
		c.Incoming(strconv.Itoa(i), true, now)
	}
	want := keyed.Counters{Keys: 1, Allowed: 4, EvictedLive: 2, EvictedDrained: 1}
	if diff := cmp.Diff(want, n.Counters()); diff != "" {
		t.Error(diff)
	}
	want = keyed.Counters{Keys: 1, Allowed: 4, EvictedLive: 3}
	if diff := cmp.Diff(want, c.Counters()); diff != "" {
		t.Error(diff)
	}
	if _, err := c.Leaving("0"); err == nil {
		t.Error("a connection of a forgotten key left")
	}
}

// No number of keys makes it larger, and no use of a key is lost while it is among the newest.
func TestManyKeys(t *testing.T) {
	const most = 100
	n := must[*resty.Count](t)(resty.NewCount(1e6, time.Hour, resty.Options{MaxKeys: most}))
	for i := range int64(20_000) {
		incoming(t, n, strconv.FormatInt(i, 10), 0, remaining(1e6-1))
		incoming(t, n, "always", 0, remaining(1e6-1-i))
	}
	for i := range int64(most - 1) { // the newest but "always"
		checkIncoming(t, n, strconv.FormatInt(19_999-i, 10), false, 0, remaining(1e6-2))
	}
	checkIncoming(t, n, strconv.FormatInt(20_000-most, 10), false, 0, remaining(1e6-1))
	if c := n.Counters(); c.Keys != most {
		t.Errorf("%d keys", c.Keys)
	}
}

// A key that is a view of a buffer may change after the call.
func TestKeysAreCopied(t *testing.T) {
	buffer := []byte("ab")
	c := newCount(t, 5, second)
	incoming(t, c, unsafe.String(&buffer[0], len(buffer)), 0, remaining(4))
	buffer[0] = 'x'
	incoming(t, c, "ab", 0, remaining(3))
}
