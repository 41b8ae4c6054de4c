package redisstore

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/test/redislab"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/shared"
)

// expiries fails the test if a key that begins with prefix has no expiry, or one that is longer than most, and returns how many there
// are.
func (l *lab) expiries(prefix string, most time.Duration) int {
	l.tb.Helper()
	keys := l.keys(prefix)
	for _, key := range keys {
		left, err := l.client.PTTL(context.Background(), key).Result()
		if err != nil || left <= 0 || left > most {
			l.tb.Errorf("%s expires in %v, %v; want at most %v", key, left, err, most)
		}
	}
	return len(keys)
}

// TestCase28And47And48And49EveryKeyExpires: whatever the limit, a key is kept for as long as it owes something, and a second, which is
// a minute in the tests: in ms, and set in the command that writes it.
func TestCase28And47And48And49EveryKeyExpires(t *testing.T) {
	for _, test := range []struct {
		limit shared.Limit
		use   time.Duration // of the key after the first unit
	}{
		{shared.Limit{Algorithm: config.Leaky, Count: 100_000_000, Per: time.Second}, time.Millisecond},
		{shared.Limit{Algorithm: config.Leaky, Count: 1000, Per: time.Second}, time.Millisecond},
		{shared.Limit{Algorithm: config.Leaky, Count: 3, Per: time.Second, Burst: 2}, 334 * time.Millisecond},
		{shared.Limit{Algorithm: config.Leaky, Count: 1, Per: time.Hour, Burst: 8000}, time.Hour},
		{shared.Limit{Algorithm: config.Window, Count: 5, Per: time.Microsecond}, time.Millisecond},
		{shared.Limit{Algorithm: config.Window, Count: 5, Per: time.Second}, time.Second},
		{shared.Limit{Algorithm: config.Window, Count: 5, Per: 183 * 24 * time.Hour}, 183 * 24 * time.Hour},
		{shared.Limit{Algorithm: config.Sliding, Count: 5, Per: time.Second}, 2 * time.Second},
		{shared.Limit{Algorithm: config.Sliding, Count: 5, Per: time.Hour}, 2 * time.Hour},
		{shared.Limit{Algorithm: config.Concurrent, Count: 5}, kept + time.Second - time.Minute},
	} {
		l, store := newLab(t, server(t), "hg")
		c := shared.Charge{Zone: "z", Limit: test.limit, Key: "k", N: 1}
		most := test.use + time.Minute
		_, got := take(t, store, c)
		if l.expiries("", most) != 1 {
			t.Fatalf("%+v: %q", test.limit, l.keys(""))
		}
		if left := l.client.PTTL(context.Background(), l.keys("")[0]).Val(); left < most-kept/2 {
			t.Errorf("%+v: forgotten in %v already", test.limit, left)
		}
		store.renew(context.Background(), store.leases.due())
		l.expiries("", most)
		take(t, store, c, c)
		l.expiries("", max(most, 2*test.use+time.Minute))
		store.Return("tag", got)
		l.expiries("", max(most, 2*test.use+time.Minute))
		l.setBack(time.Hour)
		take(t, store, c, c)
		l.expiries("", max(most, 3*test.use+time.Minute))
	}
}

// TestUnreadable: what somebody else wrote under the name of a key is an error for that key alone, and soon gone.
func TestUnreadable(t *testing.T) {
	l, store := newLive(t, server(t))
	ctx := context.Background()
	for name, limit := range slow {
		c := shared.Charge{Zone: name, Limit: limit, Key: "k", N: 1}
		other := shared.Charge{Zone: "other", Limit: slow["window"], Key: "k", N: 1}
		take(t, store, c)
		key := l.only(":" + name + ":")
		for what, write := range map[string]func(){
			"a list":    func() { l.client.RPush(ctx, key, "a") },
			"a text":    func() { l.client.Set(ctx, key, "12", 0) },
			"32 bytes":  func() { l.client.Set(ctx, key, strings.Repeat("a", 32), 0) },
			"no length": func() { l.client.Set(ctx, key, strings.Repeat("\x00", 32), 0) },
			"a number": func() {
				l.client.Set(ctx, key, strings.Repeat("\xff\xff\xff\xff\xff\xff\x1f\x00", 3)+"\x00\x00\x00\x00\x00\x00\x20\x00", time.Hour)
			},
		} {
			l.client.Del(ctx, key)
			write()
			for range 2 {
				if allowed, err := store.Take("tag", []shared.Charge{other, c, other}, 0); err == nil || allowed || !strings.Contains(err.Error(), "zone "+name) {
					t.Errorf("%s, %s: %v, %v", name, what, allowed, err)
				}
			}
			if _, err := store.Take("tag", []shared.Charge{c}, 0); err == nil {
				t.Errorf("%s, %s: no error", name, what)
			}
			if err := store.Peek("tag", []shared.Charge{c}); err == nil {
				t.Errorf("%s, %s: no error of Peek", name, what)
			}
			store.Return("tag", []shared.Charge{c})
			if left := l.client.PTTL(ctx, key).Val(); left <= 0 || left > time.Minute {
				t.Errorf("%s, %s: gone in %v", name, what, left)
			}
		}
		l.client.PExpire(ctx, key, 0) // the minute is over
		if allowed, _ := take(t, store, c, other); !allowed {
			t.Errorf("%s: refused when it is gone", name)
		}
		if _, err := store.Forget("tag", "other", "k", other.Limit); err != nil {
			t.Error(err)
		}
	}
}

// only returns the only key with such a part.
func (l *lab) only(part string) (found string) {
	l.tb.Helper()
	for _, key := range l.keys("") {
		if strings.Contains(key, part) {
			if found != "" {
				l.tb.Fatalf("%q and %q", found, key)
			}
			found = key
		}
	}
	return found
}

// TestErrorLeavesNothing: of a request that cannot be written, no limit has anything.
func TestErrorLeavesNothing(t *testing.T) {
	redis := redislab.Start(t)
	l, store := newLive(t, redis.Addr)
	var charges []shared.Charge
	for name, limit := range slow {
		charges = append(charges, shared.Charge{Zone: name, Limit: limit, Key: "k", N: 1})
	}
	redis.Do("CONFIG", "SET", "maxmemory", "1")
	if allowed, err := store.Take("tag", charges, 0); err == nil || allowed {
		t.Errorf("without memory: %v, %v", allowed, err)
	}
	if keys := l.keys(""); len(keys) > 0 {
		t.Errorf("left: %q", keys)
	}
	redis.Do("CONFIG", "SET", "maxmemory", "0")
	if allowed, got := take(t, store, charges...); !allowed || got[0].Result.Remaining != 99 {
		t.Errorf("with memory again: %v, %+v", allowed, got)
	}
	if n := store.Counters(); n.Errors != 1 || n.Decisions != 1 {
		t.Errorf("%+v", n)
	}
}
