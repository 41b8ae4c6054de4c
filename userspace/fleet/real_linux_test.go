package fleet

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/headgate/headgate/userspace/redisconn"
)

// realConn is a Conn to real servers, with nothing that package redisconn does to keep requests from waiting.
type realConn struct {
	client  redis.UniversalClient
	mu      sync.Mutex
	scripts map[*redisconn.Script]*redis.Script
	calls   map[*redisconn.Script]int
	away    atomic.Bool // no call comes through
	joined  atomic.Bool // all messages are heard
}

func newRealConn(tb testing.TB, addrs ...string) *realConn {
	c := &realConn{
		client: redis.NewUniversalClient(&redis.UniversalOptions{
			Addrs: addrs, ReadTimeout: longest, ContextTimeoutEnabled: true, MaxRetries: -1,
		}),
		scripts: map[*redisconn.Script]*redis.Script{}, calls: map[*redisconn.Script]int{},
	}
	tb.Cleanup(func() { c.client.Close() })
	return c
}

func (c *realConn) know(s scripts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scripts[s.beat] = redis.NewScript(beginLua + beatLua)
	c.scripts[s.look] = redis.NewScript(beginLua + lookLua)
	c.scripts[s.publish] = redis.NewScript(beginLua + publishLua)
}

var errAway = errors.New("redis is away")

func (c *realConn) DoPatiently(ctx context.Context, call redisconn.Call, timeout time.Duration) (string, error) {
	if c.away.Load() {
		return "", errAway
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c.mu.Lock()
	script := c.scripts[call.Script]
	c.mu.Unlock()
	defer c.count(call.Script)
	args := make([]any, len(call.Args))
	for i, a := range call.Args {
		args[i] = a
	}
	return script.Run(ctx, c.client, call.Keys, args...).Text()
}

func (c *realConn) Subscribe(ctx context.Context, channel string, f func(redisconn.Message)) {
	s := c.client.Subscribe(ctx, channel)
	defer s.Close()
	messages := s.ChannelWithSubscriptions(redis.WithChannelHealthCheckInterval(200 * time.Millisecond))
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-messages:
			if c.away.Load() {
				continue
			}
			switch m := m.(type) {
			case *redis.Subscription:
				c.joined.Store(true)
				f(redisconn.Message{Joined: true})
			case *redis.Message:
				f(redisconn.Message{Text: m.Payload})
			}
		}
	}
}

func (c *realConn) State() redisconn.State {
	return redisconn.State{Health: redisconn.Up, RoundTrip: time.Millisecond}
}

func (c *realConn) count(s *redisconn.Script) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[s]++
}

// called returns how often a script has run.
func (c *realConn) called(s *redisconn.Script) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[s]
}

// await waits until something of a member is so that nobody tells.
func await(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	for end := time.Now().Add(longest); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("not so within %v: %s", longest, what)
		}
	}
}
