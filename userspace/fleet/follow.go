package fleet

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/headgate/headgate/userspace/redisconn"
)

const (
	// leastWait and mostWait are how long it is until what failed is tried again.
	leastWait = 100 * time.Millisecond
	mostWait  = 2 * time.Second
	// rest is left between looks: whoever may write to the channel does not say how often Redis is asked.
	rest = 20 * time.Millisecond
	// askEvery is how often it is asked again what protects the prefixes, and the kernel told its rules again: somebody may
	// have changed either.
	askEvery = time.Minute
)

// wake has something when there may be news.
type wake chan struct{}

func (w wake) up() {
	select {
	case w <- struct{}{}:
	default:
	}
}

// turn is a lock that is waited for no longer than a context lasts. It has something while nobody holds it.
type turn chan struct{}

func newTurn() turn {
	t := make(turn, 1)
	t.giveBack()
	return t
}

// take waits until nobody else holds it.
func (t turn) take(ctx context.Context) error {
	select {
	case <-t:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) giveBack() { t <- struct{}{} }

// follower reads the rules and gives them to the kernel.
type follower struct {
	*Fleet
	view      view
	epoch     string
	version   uint64
	whole     bool // all has to be read, and not only what has changed
	compareAt time.Time
	newest    int64 // the latest "at" of changes that are not in force yet
	lastBad   string
	keptRead  bool
	looks     trouble // reading the rules
	applies   trouble // giving them to the kernel

	known    bool // the rules were read once: only then there is something to tell the kernel
	dirty    bool // there is something that it was not told
	askAt    time.Time
	hiddenAt time.Time      // when a rule comes into force as another ends; zero for never
	inForce  []*record      // what the kernel was told last
	told     bool           // it was told something
	lifted   []netip.Prefix // what was handed down there was taken back, and the kernel was not told
}

// standing is how far the follower is.
type standing struct {
	epoch   string
	version uint64
	delay   time.Duration
}

// hear is called for what is said on the channel. It is not believed: it only makes the follower look.
func (f *Fleet) hear(m redisconn.Message) {
	if m.Joined {
		f.joined.Store(true)
	}
	f.wake.up()
}

// followUntil follows until ctx ends.
func (f *Fleet) followUntil(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var pause backoff
	for {
		news := f.wake
		if pause > 0 {
			news = nil // until the pause is over
		}
		select {
		case <-ctx.Done():
			return
		case <-news:
		case <-timer.C:
		}
		next, err := f.catchUp(ctx)
		if err != nil {
			next = pause.more()
		} else {
			pause = 0
		}
		timer.Reset(next)
		sleep(ctx, rest)
	}
}

// sleep returns after a time, or when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// backoff is how long what failed is left alone; 0 if nothing failed.
type backoff time.Duration

func (b *backoff) more() time.Duration {
	*b = min(max(2**b, backoff(leastWait)), backoff(mostWait))
	return time.Duration(*b)
}

// catchUp reads what is new and makes it so here. It returns in how long something is to be done anyway.
func (f *Fleet) catchUp(ctx context.Context) (next time.Duration, err error) {
	if err := f.following.take(ctx); err != nil {
		return 0, err
	}
	defer f.following.giveBack()
	a := &f.follower
	lookErr := a.begin()
	if lookErr == nil {
		lookErr = a.look(ctx)
		a.known = a.known || lookErr == nil
	}
	applyErr := a.apply(ctx)
	a.tellTrouble(ctx, lookErr, applyErr)
	return a.next(), errors.Join(lookErr, applyErr)
}

// begin reads what the kernel has from before, once.
func (a *follower) begin() error {
	if a.keptRead {
		return nil
	}
	if a.follows() {
		rules, err := a.o.Kept()
		if err != nil {
			return err
		}
		a.view.keep(rules, time.Now())
	}
	a.keptRead = true
	return nil
}

func (a *follower) next() time.Duration {
	next := a.askAt
	if a.compareAt.Before(next) {
		next = a.compareAt
	}
	if !a.hiddenAt.IsZero() && a.hiddenAt.Before(next) {
		next = a.hiddenAt
	}
	return max(time.Until(next), time.Millisecond)
}
