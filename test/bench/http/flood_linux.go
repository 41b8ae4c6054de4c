package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Flood is what the attacker does.
type Flood struct {
	Addr, Path string
	Conns      int
	Rate       int  // attempts a second
	Anew       bool // each on a connection of its own
	For        time.Duration
}

// Flooded is how that went.
type Flooded struct {
	Refused    int // answers 429
	Marked     int // of those, with the field RateLimit
	Passed     int // answers 200
	Unanswered int // requests whose connection was given up
	Knocks     int // attempts to open a connection: a SYN each
	Opened     int // of those that succeeded
	HeldBack   int // times when no connection was free, which are no attempts
	Took       time.Duration
}

// attempts returns how many requests were to be answered, as the attacker sees it.
func (f Flooded) attempts() int { return f.Refused + f.Passed + f.Unanswered + f.Knocks }

const (
	// giveUp is how long the attacker waits for an answer, and giveUpOpening for a connection.
	giveUp        = time.Second
	giveUpOpening = 100 * time.Millisecond
	// beat is how often the attacker acts, and mostAtOnce how many attempts he makes then, also if he is late: the queue of
	// an interface has 256 places.
	beat       = time.Millisecond
	mostAtOnce = 64
)

// attacker floods.
type attacker struct {
	Flood
	knocker *knocker
	turns   chan struct{} // each makes one connection ask once
	alive   atomic.Int64  // connections
	workers sync.WaitGroup

	mu     sync.Mutex
	counts Flooded
	err    error
}

// flood is roleFlood. An answer other than 429 and 200 is an error.
func flood(f Flood) (Flooded, error) {
	to, err := netip.ParseAddrPort(f.Addr)
	if err != nil {
		return Flooded{}, err
	}
	a := &attacker{Flood: f, knocker: newKnocker(to), turns: make(chan struct{})}
	begin := time.Now()
	a.open()
	err = a.attack(time.Now())
	close(a.turns)
	a.workers.Wait()
	a.knocker.close()
	a.counts.Took = time.Since(begin)
	a.counts.Knocks += a.knocker.tried
	a.counts.Opened += a.knocker.opened
	return a.counts, errors.Join(err, a.err)
}

// open opens the connections, as far as that goes, and has each ask when it is its turn.
func (a *attacker) open() {
	var all sync.WaitGroup
	for range a.Conns {
		all.Go(func() {
			c, err := dial(a.Addr, a.Path, giveUpOpening)
			if err != nil {
				a.count(&Flooded{Knocks: 1})
				return
			}
			a.alive.Add(1)
			a.workers.Go(func() { a.askOn(c) })
		})
	}
	all.Wait()
}

// attack makes an attempt at each moment that the rate says, or soon after.
func (a *attacker) attack(begin time.Time) error {
	made := 0
	for {
		now := time.Now()
		passed := now.Sub(begin)
		if passed >= a.For {
			return nil
		}
		due := int(passed.Seconds() * float64(a.Rate))
		for made = max(made, due-mostAtOnce); made < due; made++ {
			if err := a.attempt(); err != nil {
				return err
			}
		}
		a.knocker.giveUp(now)
		time.Sleep(beat)
	}
}

func (a *attacker) attempt() error {
	if a.alive.Load() == 0 {
		return a.knocker.knock()
	}
	select {
	case a.turns <- struct{}{}:
	default:
		a.counts.HeldBack++ // nobody else does
	}
	return nil
}

// askOn asks on a connection at each turn that it gets, until an answer does not come.
func (a *attacker) askOn(c *conn) {
	var own Flooded
	defer a.alive.Add(-1)
	defer func() { a.count(&own) }()
	for range a.turns {
		err := a.askOnce(c, &own)
		if err == nil && a.Anew {
			c.Close()
			if c, err = dial(a.Addr, a.Path, giveUpOpening); err != nil {
				own.Knocks++
				return
			}
		}
		if err != nil {
			break
		}
	}
	c.Close()
}

// askOnce asks once and counts what comes of it. After an error the connection is of no more use.
func (a *attacker) askOnce(c *conn, own *Flooded) error {
	got, err := c.ask(time.Now().Add(giveUp))
	switch {
	case err != nil:
		own.Unanswered++
		return err
	case got.status == http.StatusTooManyRequests:
		own.Refused++
		if got.marked {
			own.Marked++
		}
	case got.status == http.StatusOK:
		own.Passed++
	default:
		err = fmt.Errorf("an answer is neither 429 nor 200: %q", got.text)
		a.fail(err)
	}
	return err
}

func (f *Flooded) add(g *Flooded) {
	f.Refused += g.Refused
	f.Marked += g.Marked
	f.Passed += g.Passed
	f.Unanswered += g.Unanswered
	f.Knocks += g.Knocks
}

func (a *attacker) count(own *Flooded) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.add(own)
}

func (a *attacker) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
}
