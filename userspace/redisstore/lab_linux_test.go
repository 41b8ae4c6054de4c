package redisstore

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/headgate/headgate/test/redislab"
	"github.com/headgate/headgate/userspace/redisconn"
	"github.com/headgate/headgate/userspace/shared"
)

const clockLines = "local time = redis.call('TIME')\nlocal now = time[1] * 1000000 + time[2]\n"

// lab is a Conn to a real Redis that waits for each answer. Its scripts are those of the store, but for their clock if it is set.
type lab struct {
	tb      testing.TB
	client  redis.UniversalClient
	sources map[*redisconn.Script]*redis.Script
	calls   atomic.Int64

	set   bool
	clock atomic.Int64 // µs, of Redis
	local atomic.Int64 // of the machines
	// before is called before each call, and fails it with its error.
	before func(redisconn.Call) error
	// after is called after each, and loses its answer.
	after func(redisconn.Call) error
}

// newLab returns a store with a clock that the test sets, of this machine and of Redis.
func newLab(tb testing.TB, addr, prefix string) (*lab, *Store) {
	l := &lab{tb: tb, client: clientOf(tb, addr), set: true}
	l.clock.Store(1_700_000_000_000_000)
	return l, l.store(prefix)
}

// newLive returns a store with the clock of Redis.
func newLive(tb testing.TB, addrs ...string) (*lab, *Store) {
	l := &lab{tb: tb, client: clientOf(tb, addrs...)}
	return l, l.store("hg")
}

func clientOf(tb testing.TB, addrs ...string) redis.UniversalClient {
	client := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: addrs, IsClusterMode: len(addrs) > 1, ReadTimeout: time.Minute})
	tb.Cleanup(func() { client.Close() })
	return client
}

// store returns another store on the same connection, as of another machine.
func (l *lab) store(prefix string) *Store {
	o := Options{Conn: l, Prefix: prefix}
	if l.set {
		o.Clock = func() time.Duration { return time.Duration(l.local.Load()) * time.Microsecond }
	}
	s := New(o)
	if l.sources == nil {
		l.sources = map[*redisconn.Script]*redis.Script{}
	}
	for _, script := range []script{
		s.scripts.one, s.scripts.take, s.scripts.giveBack, s.scripts.release, s.scripts.renew, s.scripts.forget,
	} {
		source := script.source
		if l.set {
			source = replace(l.tb, source, clockLines, "local now = tonumber(ARGV[#ARGV])\n")
			source = strings.ReplaceAll(source, "1000.999", "60000.999") // so that nothing expires while the test is elsewhere
		}
		l.sources[script.Script] = redis.NewScript(source)
	}
	return s
}

func replace(tb testing.TB, text, old, with string) string {
	if strings.Count(text, old) != 1 {
		tb.Fatalf("not once in the script: %q", old)
	}
	return strings.Replace(text, old, with, 1)
}

// pass lets time pass.
func (l *lab) pass(d time.Duration) {
	l.clock.Add(d.Microseconds())
	l.local.Add(d.Microseconds())
}

// setBack sets the clock of Redis back. What machines know is old by then.
func (l *lab) setBack(d time.Duration) {
	l.clock.Add(-d.Microseconds())
	l.local.Add(believed.Microseconds())
}

// Do implements Conn.
func (l *lab) Do(call redisconn.Call, _ time.Duration) (string, error) {
	l.calls.Add(1)
	if l.before != nil {
		if err := l.before(call); err != nil {
			return "", err
		}
	}
	args := make([]any, 0, len(call.Args)+1)
	for _, a := range call.Args {
		args = append(args, a)
	}
	if l.set {
		args = append(args, strconv.FormatInt(l.clock.Load(), 10))
	}
	reply, err := l.sources[call.Script].Run(context.Background(), l.client, call.Keys, args...).Text()
	if l.after != nil && err == nil {
		err = l.after(call)
	}
	return reply, err
}

// Start implements Conn.
func (l *lab) Start(call redisconn.Call, done func(string, error)) { done(l.Do(call, 0)) }

// keys returns all keys that begin with prefix.
func (l *lab) keys(prefix string) []string {
	l.tb.Helper()
	keys, err := l.client.Keys(context.Background(), prefix+"*").Result()
	if err != nil {
		l.tb.Fatal(err)
	}
	return keys
}

// take takes one unit of each limit, and fails the test on an error.
func take(tb testing.TB, s *Store, charges ...shared.Charge) (bool, []shared.Charge) {
	tb.Helper()
	allowed, err := s.Take("tag", charges, 0)
	if err != nil {
		tb.Fatal(err)
	}
	return allowed, charges
}

// server starts a Redis and returns its address.
func server(tb testing.TB) string {
	tb.Helper()
	return redislab.Start(tb).Addr
}
