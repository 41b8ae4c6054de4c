package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/userspace/redisconn"
	"github.com/headgate/headgate/userspace/shared"
)

const (
	// atOnce is how many places are renewed by one script: so it does not hold up Redis.
	atOnce = 200
	// abreast is how many such scripts are under way, however many tags there are: they leave the connection's room to requests, and
	// none is turned away because others filled it.
	abreast = 32
)

// lease is places that this machine occupies.
type lease struct {
	tag, key, name string
	n              uint64
	// renewing says that a renewal is under way. One that came after the release would occupy the places again.
	renewing bool
	ended    bool
}

// leases are all that this machine has, by Charge.Lease.
type leases struct {
	process string // in all names, so that they are different from those of other processes
	last    atomic.Uint64

	mu     sync.Mutex
	all    map[string]*lease
	missed []*lease // whose renewal failed since due or overdue
}

func newLeases() leases {
	var b [9]byte
	_, _ = rand.Read(b[:]) // never fails
	return leases{process: base64.RawURLEncoding.EncodeToString(b[:]), all: map[string]*lease{}}
}

// name returns a name for what a may occupy, empty if that is nothing.
func (l *leases) name(a *ask) string {
	for i := range a.each {
		if a.each[i].terms.kind == concurrent {
			return l.process + "." + strconv.FormatUint(l.last.Add(1), 36)
		}
	}
	return ""
}

// begin notes what a occupies.
func (l *leases) begin(tag string, a *ask, charges []shared.Charge, name string) {
	if name == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range a.each {
		if one := &a.each[i]; charges[i].Lease != "" {
			l.all[charges[i].Lease] = &lease{tag: tag, key: string(a.text[one.name:one.end]), name: name, n: one.n}
		}
	}
}

func (l *leases) count() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return uint64(len(l.all))
}

// end returns those of the leases that begin noted, once, that can be released now. The others are when their renewal is through.
func (l *leases) end(charges []shared.Charge) (released []*lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range charges {
		this, ok := l.all[charges[i].Lease]
		if !ok {
			continue
		}
		delete(l.all, charges[i].Lease)
		if this.ended = true; !this.renewing {
			released = append(released, this)
		}
	}
	return released
}

// due returns all leases by tag.
func (l *leases) due() map[string][]*lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.missed = nil // they are among all
	return byTag(maps.Values(l.all))
}

// overdue returns by tag the leases whose renewal failed, once.
func (l *leases) overdue() map[string][]*lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	missed := l.missed
	l.missed = nil
	return byTag(slices.Values(missed))
}

// byTag returns those that are not being renewed.
func byTag(those iter.Seq[*lease]) map[string][]*lease {
	due := map[string][]*lease{}
	for this := range those {
		if !this.renewing {
			due[this.tag] = append(due[this.tag], this)
		}
	}
	return due
}

// renew returns those that have not ended, which are being renewed until renewed is called for them.
func (l *leases) renew(those []*lease) (alive []*lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, this := range those {
		if !this.ended {
			this.renewing = true
			alive = append(alive, this)
		}
	}
	return alive
}

// renewed says that a renewal is through, and how. It returns those of the leases that have ended meanwhile.
func (l *leases) renewed(those []*lease, err error) (ended []*lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, this := range those {
		switch this.renewing = false; {
		case this.ended:
			ended = append(ended, this)
		case err != nil:
			l.missed = append(l.missed, this)
		}
	}
	return ended
}

// Run says every 10 s that what this machine occupies is still occupied, until ctx ends; if that fails again a second later. What
// nobody says that of for 30 s is free.
func (s *Store) Run(ctx context.Context) {
	tick := time.NewTicker(retried)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if n%int(renewed/retried) == 0 {
			s.renew(ctx, s.leases.due())
		} else {
			s.renew(ctx, s.leases.overdue())
		}
	}
}

// renew renews leases, those of a tag in few round trips, until ctx ends. It waits for no answer but of those abreast.
func (s *Store) renew(ctx context.Context, due map[string][]*lease) {
	room := make(chan struct{}, abreast)
	for _, all := range due {
		for those := range slices.Chunk(all, atOnce) {
			select {
			case room <- struct{}{}:
			case <-ctx.Done():
				return
			}
			s.renewSome(those, func() { <-room })
		}
	}
}

// renewSome renews leases by one script, and calls done when it is through.
func (s *Store) renewSome(those []*lease, done func()) {
	if those = s.leases.renew(those); len(those) == 0 {
		done()
		return
	}
	s.conn.Start(callOf(s.scripts.renew, those), func(_ string, err error) {
		if ended := s.leases.renewed(those, err); len(ended) > 0 {
			s.release(ended)
		}
		if err != nil {
			s.log.Debug("places in redis were not renewed", "places", len(those), "error", err)
		}
		done()
	})
}

// release frees places. If that fails they are free when they have not been renewed for long enough.
func (s *Store) release(those []*lease) {
	s.conn.Start(callOf(s.scripts.release, those), func(_ string, err error) {
		if err != nil {
			s.log.Debug("places in redis were not released", "places", len(those), "error", err)
		}
	})
}

func callOf(script script, those []*lease) redisconn.Call {
	call := redisconn.Call{Script: script.Script}
	for _, l := range those {
		call.Keys = append(call.Keys, l.key)
		call.Args = append(call.Args, l.name, strconv.FormatUint(l.n, 10))
	}
	return call
}

// abandon releases what a may have occupied when nobody knows whether it did.
func (s *Store) abandon(tag string, a *ask, name string, err error) {
	if name == "" || errors.Is(err, redisconn.ErrOpen) || errors.Is(err, redisconn.ErrBusy) {
		return
	}
	var those []*lease
	for i := range a.each {
		if one := &a.each[i]; one.terms.kind == concurrent && one.n <= one.terms.most {
			those = append(those, &lease{tag: tag, key: string(a.text[one.name:one.end]), name: name, n: one.n})
		}
	}
	if len(those) > 0 {
		s.release(those)
	}
}
