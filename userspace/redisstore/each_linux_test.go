package redisstore

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/headgate/headgate/test/redislab"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/redisconn"
	"github.com/headgate/headgate/userspace/shared"
)

// TestEachIsOne decides about requests one after the other and together, and finds the same answers and the same keys.
func TestEachIsOne(t *testing.T) {
	client := clientOf(t, redislab.Start(t).Addr)
	s := newScripts()
	fixed := func(of script) *redis.Script {
		return redis.NewScript(replace(t, of.source, clockLines, "local now = tonumber(redis.call('GET', 'now'))\n"))
	}
	one, each := fixed(s.one), fixed(newScript("each"))
	limits := []shared.Limit{
		{Algorithm: config.Leaky, Count: 3, Per: time.Second, Burst: 2},
		{Algorithm: config.Window, Count: 3, Per: time.Second},
		{Algorithm: config.Sliding, Count: 3, Per: time.Second},
	}
	ctx, now := context.Background(), int64(1_700_000_000_000_000)
	rapid.Check(t, func(r *rapid.T) {
		client.FlushDB(ctx)
		client.Set(ctx, "broken", "what somebody wrote", time.Hour)
		client.Set(ctx, "brokenx", "what somebody wrote", time.Hour)
		for range rapid.IntRange(1, 8).Draw(r, "batches") {
			now += rapid.Int64Range(0, 900_000).Draw(r, "µs")
			client.Set(ctx, "now", now, time.Hour)
			var keys []string
			var args []any
			var want []any
			for range rapid.IntRange(1, 6).Draw(r, "requests") {
				n := rapid.IntRange(0, 6).Draw(r, "key")
				key := "broken"
				terms, _ := termsOf(limits[n%3])
				if n < 6 {
					key = fmt.Sprint("k", n)
				}
				arg := string(terms.append([]byte{charging}, 0, rapid.Uint64Range(1, 4).Draw(r, "n"), rapid.Uint64Range(0, 2).Draw(r, "more")))
				reply, err := one.Run(ctx, client, []string{key}, arg).Result()
				if err != nil {
					r.Fatal(err)
				}
				keys, args, want = append(keys, key+"x"), append(args, arg), append(want, reply)
			}
			got, err := each.Run(ctx, client, keys, args...).Slice()
			if err != nil || len(got) != len(want) {
				r.Fatalf("%v, %v", got, err)
			}
			for i := range want {
				if want[i] == "!1" {
					want[i] = fmt.Sprint("!", i+1)
				}
				if got[i] != want[i] {
					r.Errorf("request %d of %q: together %q, alone %q", i, keys, got[i], want[i])
				}
			}
			for _, key := range keys {
				if a, b := client.Get(ctx, key).Val(), client.Get(ctx, key[:len(key)-1]).Val(); a != b {
					r.Errorf("%s is %q, and %q alone", key, a, b)
				}
			}
		}
	})
}

// TestTogetherExactlyTheLimit has requests of many keys come together over real connections: each key gets what it may, and no more.
func TestTogetherExactlyTheLimit(t *testing.T) {
	conn, err := redisconn.Open(redisconn.Options{Config: config.Redis{Addrs: []string{redislab.Start(t).Addr}, Timeout: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	machines := []*Store{New(Options{Conn: conn, Prefix: "hg"}), New(Options{Conn: conn, Prefix: "hg"})}
	limit := shared.Limit{Algorithm: config.Window, Count: 10, Per: time.Hour}
	var passed [8]atomic.Int64
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for k := range 40 {
				key := (i + k) % len(passed)
				charges := []shared.Charge{{Zone: "z", Limit: limit, Key: fmt.Sprint("key", key), N: 1}}
				allowed, err := machines[i%2].Take(charges[0].Key, charges, 0)
				if err != nil {
					t.Error(err)
				}
				if allowed {
					passed[key].Add(1)
				}
			}
		})
	}
	all.Wait()
	for key := range passed {
		if n := passed[key].Load(); n != 10 {
			t.Errorf("key %d: %d passed, want 10", key, n)
		}
	}
}

// TestTogetherUnreadable has requests for a key that somebody wrote to come together with others: only theirs fail.
func TestTogetherUnreadable(t *testing.T) {
	server := redislab.Start(t)
	conn, err := redisconn.Open(redisconn.Options{Config: config.Redis{Addrs: []string{server.Addr}, Timeout: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s := New(Options{Conn: conn, Prefix: "hg"})
	server.Do("SET", string(appendName(nil, "hg", "bad", terms{kind: window, q: uint64(time.Hour.Microseconds())}, "z", "bad")), "something else")
	limit := shared.Limit{Algorithm: config.Window, Count: 1000, Per: time.Hour}
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			for range 20 {
				key := []string{"good", "bad"}[i%2]
				charges := []shared.Charge{{Zone: "z", Limit: limit, Key: key, N: 1}}
				_, err := s.Take(key, charges, 0)
				if bad := err != nil && strings.Contains(err.Error(), "something else"); bad != (key == "bad") || !bad && err != nil {
					t.Errorf("%s: %v", key, err)
				}
			}
		})
	}
	all.Wait()
	if state := conn.State(); state.Health != redisconn.Up || state.Errors != 0 {
		t.Errorf("%+v", state)
	}
}
