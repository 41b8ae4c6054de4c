package redisconn

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// channel is a subscription whose server says what a test wants.
type channel struct {
	says   chan Message
	deaf   bool // it does not answer when asked
	asked  chan struct{}
	lost   chan struct{}
	closed bool
}

func (c *channel) next(_ context.Context, patience time.Duration) (Message, bool, error) {
	select {
	case m := <-c.says:
		return m, false, nil
	case <-c.asked:
		return Message{}, true, nil
	case <-c.lost:
		return Message{}, false, errors.New("lost")
	case <-time.After(patience):
		return Message{}, false, errQuiet
	}
}

func (c *channel) ask(context.Context) error {
	if !c.deaf {
		c.asked <- struct{}{}
	}
	return nil
}

func (c *channel) close() error { c.closed = true; return nil }

// TestSubscribe loses two connections, one that is closed and one that is dead, and finds no server for a minute.
func TestSubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		var dials []time.Time
		connect := func(deaf bool, says ...Message) *channel {
			c := &channel{says: make(chan Message, 4), deaf: deaf, asked: make(chan struct{}, 1), lost: make(chan struct{})}
			for _, m := range says {
				c.says <- m
			}
			return c
		}
		joined := Message{Joined: true}
		lives := connect(false, joined, Message{Text: "a"})
		connections := []*channel{lives, connect(true, joined, Message{Text: "b"})}
		b.fake.dial = func() (subscription, error) {
			dials = append(dials, time.Now())
			if len(dials) > len(connections) {
				return nil, errRefused
			}
			return connections[len(dials)-1], nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		var got []Message
		ended := false
		go func() {
			b.Subscribe(ctx, "c", func(m Message) { got = append(got, m) })
			ended = true
		}()
		begin := time.Now()
		time.Sleep(time.Hour) // nothing is said, but it lives
		synctest.Wait()
		if len(dials) != 1 || len(got) != 2 {
			t.Fatalf("%d connections, %v", len(dials), got)
		}
		close(lives.lost)
		time.Sleep(time.Minute)
		cancel()
		synctest.Wait()
		if want := []Message{joined, {Text: "a"}, joined, {Text: "b"}}; !slices.Equal(got, want) || !ended || !lives.closed {
			t.Errorf("%v, ended: %v", got, ended)
		}
		if back := dials[1].Sub(begin) - time.Hour; back > 100*time.Millisecond {
			t.Errorf("back after %v", back)
		}
		if noticed := dials[2].Sub(dials[1]); noticed < 2*quiet || noticed > 3*quiet {
			t.Errorf("a dead connection is noticed after %v", noticed)
		}
		if n := len(dials); n < 25 || n > 80 {
			t.Errorf("%d connections tried in a minute", n)
		}
	})
}

// TestSubscribeRefused has a user who may not hear a channel, then may, and then may not again: each is told once.
func TestSubscribeRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		var answer atomic.Pointer[error] // nil for none
		b.fake.dial = func() (subscription, error) {
			if err := answer.Load(); err != nil {
				return nil, *err
			}
			c := &channel{says: make(chan Message, 1), deaf: true, asked: make(chan struct{}), lost: make(chan struct{})}
			c.says <- Message{Joined: true}
			return c, nil
		}
		var refused, away error = answered("NOPERM this user has no permissions to access the 'c' channel"), errRefused
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for i, now := range []*error{&refused, nil, &refused, &away} { // the breaker tells the last
			answer.Store(now)
			if i == 0 {
				go b.Subscribe(ctx, "c", func(Message) {})
			}
			time.Sleep(time.Hour)
			synctest.Wait()
		}
		if lines := *b.log.lines; len(lines) != 2 || !strings.Contains(lines[1], "channel=c") || !strings.Contains(lines[1], "headgate.conf") {
			t.Errorf("told %q", lines)
		}
	})
}
