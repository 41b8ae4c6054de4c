package redisconn

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// A subscription that is silent for so long is asked whether it lives, and is dead if it stays silent once more.
	quiet = time.Second
	// It is made again after firstWait, and then at intervals that double up to longestWait.
	firstWait   = 50 * time.Millisecond
	longestWait = 2 * time.Second
)

// Message is what Subscribe tells.
type Message struct {
	// Joined says that from now on all messages are seen, so that what was said before has to be looked up: after the start, and
	// whenever a connection was lost.
	Joined bool
	Text   string
}

// subscription is one connection that messages of a channel come by.
type subscription interface {
	// next waits for what comes next. alive without a message is an answer to ask.
	next(ctx context.Context, patience time.Duration) (m Message, alive bool, err error)
	// ask has the server say that it lives.
	ask(ctx context.Context) error
	close() error
}

// errQuiet says that nothing came.
var errQuiet = errors.New("nothing was said")

// Subscribe calls f for each message of a channel, one after the other, and returns when ctx ends or the Conn is closed. It
// connects again by itself.
func (c *Conn) Subscribe(ctx context.Context, channel string, f func(Message)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	wait, refused := firstWait, ""
	for {
		joined, err := c.listen(ctx, channel, f)
		if joined {
			wait = firstWait
		}
		refused = c.tellRefused(channel, refused, joined, err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait/2 + rand.N(wait)):
		}
		if wait *= 2; wait > longestWait {
			wait = longestWait
			c.transport.renew(ctx)
		}
	}
}

// tellRefused tells that a server does not let this process hear a channel: once, until it does or for another reason. It returns
// the reason that was told. That it does not answer the breaker tells.
func (c *Conn) tellRefused(channel, told string, joined bool, err error) string {
	switch {
	case joined:
		return ""
	case err == nil, !Answered(err), err.Error() == told:
		return told
	}
	c.watch.log.Warn("redis does not let a channel be heard; what is said there is found out later", "channel", channel, "error", err, "mend", Mend(err))
	return err.Error()
}

// listen subscribes once, calls f until the connection is lost, and reports whether there was one. The error is why it ended.
func (c *Conn) listen(ctx context.Context, channel string, f func(Message)) (joined bool, err error) {
	s, err := c.transport.subscribe(ctx, channel)
	if err != nil {
		return false, err
	}
	stop := context.AfterFunc(ctx, func() { _ = s.close() })
	defer func() {
		if stop() {
			_ = s.close() // it is of no more use
		}
	}()
	for asked := false; ; {
		m, alive, err := s.next(ctx, quiet)
		switch {
		case ctx.Err() != nil:
			return joined, nil
		case err == nil && alive:
			asked = false
		case err == nil:
			asked = false
			joined = joined || m.Joined
			f(m)
		case !errors.Is(err, errQuiet), asked:
			return joined, err
		default:
			asked = true
			if err := s.ask(ctx); err != nil {
				return joined, err
			}
		}
	}
}

func (c client) subscribe(ctx context.Context, channel string) (subscription, error) {
	p := c.redis.Subscribe(ctx)
	if err := p.Subscribe(ctx, channel); err != nil {
		p.Close()
		return nil, err
	}
	return pubsub{p}, nil
}

// pubsub is a subscription by go-redis.
type pubsub struct{ *redis.PubSub }

// next waits for what comes next. What the library makes of nonsense may be a panic; it is an error here.
func (p pubsub) next(ctx context.Context, patience time.Duration) (m Message, alive bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errNonsense, p)
		}
	}()
	got, err := p.ReceiveTimeout(ctx, patience)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return m, false, errQuiet
	}
	switch got := got.(type) {
	case *redis.Message:
		return Message{Text: got.Payload}, false, nil
	case *redis.Subscription:
		return Message{Joined: true}, false, nil
	}
	return m, true, err
}

func (p pubsub) ask(ctx context.Context) error { return p.Ping(ctx) }
func (p pubsub) close() error                  { return p.Close() }
