package redisstore

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/redisconn"
	"github.com/headgate/headgate/userspace/shared"
)

func places(n uint64) shared.Charge {
	return shared.Charge{Zone: "z", Limit: shared.Limit{Algorithm: config.Concurrent, Count: 3}, Key: "k", N: n}
}

// free returns how many places are free.
func free(tb testing.TB, s *Store) uint64 {
	tb.Helper()
	c := []shared.Charge{places(0)}
	if err := s.Peek("tag", c); err != nil {
		tb.Fatal(err)
	}
	return c[0].Result.Remaining
}

// TestPlacesOfADeadMachine come back in 30 s, and those that are renewed stay taken.
func TestPlacesOfADeadMachine(t *testing.T) {
	l, dead := newLab(t, server(t), "hg")
	alive := l.store("hg")
	take(t, dead, places(2))
	_, lives := take(t, alive, places(1))
	for range 2 {
		l.pass(renewed)
		alive.renew(t.Context(), alive.leases.due())
	}
	l.pass(renewed - time.Microsecond)
	if n := free(t, alive); n != 0 {
		t.Errorf("%d free before 30 s", n)
	}
	l.pass(time.Microsecond)
	if n := free(t, alive); n != 2 {
		t.Errorf("%d free after 30 s, want those of the dead", n)
	}
	_, third := take(t, alive, places(2))
	if n := l.client.ZCard(t.Context(), l.keys("")[0]).Val(); n != 3 {
		t.Errorf("%d places are kept in Redis, want those of the living", n)
	}
	dead.renew(t.Context(), dead.leases.due()) // it was only slow
	if n := free(t, alive); n != 0 || third[0].Lease == "" {
		t.Errorf("%d free", n)
	}
	if allowed, got := take(t, alive, places(1)); allowed || got[0].Result.RetryAfter != 1 {
		t.Errorf("5 of 3 places are taken: %v, %+v", allowed, got)
	}
	alive.Release("tag", lives)
	alive.Release("tag", third)
	if n := free(t, alive); n != 1 {
		t.Errorf("%d free, want all but the 2 that were taken again", n)
	}
}

// TestCase51And52ReleasedOnce: places are free when they are released, once, by Release or Return, however often and where it is called.
func TestCase51And52ReleasedOnce(t *testing.T) {
	l, store := newLab(t, server(t), "hg")
	_, first := take(t, store, places(1))
	_, second := take(t, store, places(2))
	again := append([]shared.Charge(nil), second...)
	l.store("hg").Release("tag", second) // another machine has nothing to do with it
	if n := free(t, store); n != 0 || store.Counters().Leases != 2 {
		t.Errorf("%d free, %+v", n, store.Counters())
	}
	for range 3 {
		store.Release("tag", second)
		store.Return("tag", again)
		if n := free(t, store); n != 2 {
			t.Errorf("%d free", n)
		}
	}
	store.Return("tag", first)
	if n := free(t, store); n != 3 || store.Counters().Leases != 0 {
		t.Errorf("%d free, %+v", n, store.Counters())
	}
	if keys := l.keys(""); len(keys) != 0 {
		t.Errorf("left: %q", keys)
	}
}

// TestTooManyPlaces: one request takes no more than is sane.
func TestTooManyPlaces(t *testing.T) {
	_, store := newLab(t, server(t), "hg")
	c := places(100)
	c.Limit.Count = 1000
	if allowed, _ := take(t, store, c); !allowed {
		t.Error("100 of 1000 places")
	}
	c.N = 101
	if _, err := store.Take("tag", []shared.Charge{c}, 0); err == nil {
		t.Error("101 places: no error")
	}
}

// TestReleasedWhileRenewed: a renewal that is under way takes no place again that was released meanwhile.
func TestReleasedWhileRenewed(t *testing.T) {
	l, store := newLab(t, server(t), "hg")
	_, got := take(t, store, places(3))
	l.before = func(call redisconn.Call) error {
		if call.Script == store.scripts.renew.Script {
			l.before = nil
			store.Release("tag", got)
		}
		return nil
	}
	store.renew(t.Context(), store.leases.due())
	if n := free(t, store); n != 3 {
		t.Errorf("%d free", n)
	}
}

// TestNotKnownWhetherTaken: what a call may have occupied that got no answer is freed.
func TestNotKnownWhetherTaken(t *testing.T) {
	l, store := newLab(t, server(t), "hg")
	l.after = func(call redisconn.Call) error {
		l.after = nil
		return redisconn.ErrTimeout
	}
	c := []shared.Charge{places(2)}
	if _, err := store.Take("tag", c, 0); !errors.Is(err, redisconn.ErrTimeout) || c[0].Lease != "" {
		t.Fatalf("%v, %+v", err, c)
	}
	if n := free(t, store); n != 3 {
		t.Errorf("%d free", n)
	}
	calls := l.calls.Load()
	l.before = func(redisconn.Call) error { return redisconn.ErrOpen }
	if _, err := store.Take("tag", c, 0); !errors.Is(err, redisconn.ErrOpen) || l.calls.Load() != calls+1 {
		t.Errorf("%v, %d calls: it was not asked, and is not told either", err, l.calls.Load()-calls)
	}
}

// TestPlacesTakenAgainExpire: a renewal makes a key anew that Redis has lost, with an expiry.
func TestPlacesTakenAgainExpire(t *testing.T) {
	l, store := newLab(t, server(t), "hg")
	take(t, store, places(2))
	l.client.FlushAll(t.Context())
	store.renew(t.Context(), store.leases.due())
	if n := l.expiries("", kept+time.Second); n != 1 || free(t, store) != 1 {
		t.Errorf("%d keys, %d free", n, free(t, store))
	}
}

// TestManyAreRenewedTogether: 450 places of a tag take three scripts.
func TestManyAreRenewedTogether(t *testing.T) {
	l, store := newLab(t, server(t), "hg")
	c := places(1)
	c.Limit.Count = 1000
	for range 450 {
		take(t, store, c)
	}
	calls := l.calls.Load()
	l.pass(kept - 1)
	store.renew(t.Context(), store.leases.due())
	if n := l.calls.Load() - calls; n != 3 {
		t.Errorf("%d calls", n)
	}
	l.pass(kept - time.Second)
	if err := store.Peek("tag", []shared.Charge{c}); err != nil {
		t.Fatal(err)
	}
	probe := []shared.Charge{c}
	if err := store.Peek("tag", probe); err != nil || probe[0].Result.Remaining != 549 {
		t.Errorf("%v, %+v", err, probe)
	}
}

// narrow is a Conn that has room for so many calls, and turns others away. Each takes a millisecond.
type narrow struct {
	liar
	room            int64
	underWay, ended atomic.Int64
}

func (c *narrow) Start(_ redisconn.Call, done func(string, error)) {
	if c.underWay.Add(1) > c.room {
		c.underWay.Add(-1)
		done("", redisconn.ErrBusy)
		return
	}
	time.AfterFunc(time.Millisecond, func() {
		c.ended.Add(1)
		c.underWay.Add(-1)
		done("", nil)
	})
}

// TestManyTagsAreRenewedInTurn: of more tags than the connection has room for calls, all are renewed, and requests have room.
func TestManyTagsAreRenewedInTurn(t *testing.T) {
	const tags = 2000
	synctest.Test(t, func(t *testing.T) {
		conn := &narrow{liar: liar(said('1', 1, 0, 0, 0, 0)), room: abreast}
		store := New(Options{Conn: conn})
		var last []shared.Charge
		for i := range tags {
			last = []shared.Charge{places(1)}
			if _, err := store.Take(strconv.Itoa(i), last, 0); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), renewed+time.Second)
		defer cancel()
		store.Run(ctx)
		if n := conn.ended.Load(); n != tags {
			t.Errorf("%d of %d tags were renewed", n, tags)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		store.renew(ctx, store.leases.due()) // has no time for all
		synctest.Wait()
		if n := conn.ended.Load(); n > tags+11*abreast {
			t.Errorf("%d renewals after the end", n-tags)
		}
		time.Sleep(time.Second)
		before := conn.ended.Load()
		store.Release("", last)
		time.Sleep(time.Second)
		if n := conn.ended.Load() - before; n != 1 {
			t.Errorf("%d releases after a renewal that was broken off", n)
		}
	})
}

// TestEndedBeforeRenewed: what has ended when its turn comes is not renewed.
func TestEndedBeforeRenewed(t *testing.T) {
	l, store := newLab(t, server(t), "hg")
	_, got := take(t, store, places(3))
	due := store.leases.due()["tag"]
	store.Release("tag", got)
	calls, through := l.calls.Load(), false
	store.renewSome(due, func() { through = true })
	if n := l.calls.Load() - calls; n != 0 || !through || len(due) != 1 {
		t.Errorf("%d calls for %d leases, through: %v", n, len(due), through)
	}
}

// counting is a Conn that counts renewals.
type counting struct {
	liar
	starts atomic.Int64
}

func (c *counting) Start(redisconn.Call, func(string, error)) { c.starts.Add(1) }

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := &counting{liar: liar(said('1', 1, 0, 0, 0, 0))}
		store := New(Options{Conn: conn})
		if _, err := store.Take("tag", []shared.Charge{places(1)}, 0); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), renewed+time.Second)
		defer cancel()
		store.Run(ctx)
		if n := conn.starts.Load(); n != 1 {
			t.Errorf("%d renewals in 11 s, want 1", n)
		}
	})
}

// flaky is a Conn that fails so many calls.
type flaky struct {
	liar
	fails, starts atomic.Int64
}

func (c *flaky) Start(_ redisconn.Call, done func(string, error)) {
	c.starts.Add(1)
	if c.fails.Add(-1) >= 0 {
		done("", redisconn.ErrTimeout)
		return
	}
	done("", nil)
}

// TestRenewedAgain: what could not be renewed is tried again each second, so that few places are lost with the connection for a
// moment; and not what has ended.
func TestRenewedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := &flaky{liar: liar(said('1', 1, 0, 0, 0, 0))}
		store := New(Options{Conn: conn})
		got := []shared.Charge{places(1)}
		if _, err := store.Take("tag", got, 0); err != nil {
			t.Fatal(err)
		}
		go store.Run(t.Context())
		starts := func(after time.Duration) int64 {
			conn.starts.Store(0)
			time.Sleep(after)
			synctest.Wait()
			return conn.starts.Load()
		}
		conn.fails.Store(3)
		if n := starts(renewed - retried/2); n != 0 {
			t.Errorf("%d renewals before it is time", n)
		}
		if n := starts(3 * retried); n != 3 {
			t.Errorf("%d renewals in 3 s in which all fail", n)
		}
		if n := starts(renewed - 3*retried); n != 1 {
			t.Errorf("%d renewals until the next time, want one that succeeds", n)
		}
		conn.fails.Store(1)
		if n := starts(retried); n != 1 {
			t.Errorf("%d renewals", n)
		}
		store.Release("tag", got)
		if n := starts(renewed); n != 0 {
			t.Errorf("%d renewals of what has ended", n)
		}
	})
}
