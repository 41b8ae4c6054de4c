package redisconn

import (
	"log/slog"
	"sync"
	"time"
)

// Health is whether requests ask the servers.
type Health string

// The values of Health.
const (
	Up      Health = "up"
	Partly  Health = "partly"  // some slots of a cluster are not Up
	Probing Health = "probing" // they answer again, and calls come back by and by
	Down    Health = "down"
)

// State is how the servers are, and what was counted since Open.
type State struct {
	Health Health
	Since  time.Time // of Health
	// Error is the last that was seen; empty while all is well.
	Error string
	// RoundTrip is the mean of the last calls.
	RoundTrip time.Duration
	InFlight  int // calls

	Calls      uint64 // begun
	RoundTrips uint64 // of calls together
	// Calls that failed: in time, by an answer, for too many, or without being asked.
	Timeouts, Errors, Busy, LeftAlone uint64
	// Opened is how often servers were left alone, and Probes how often it was tried whether they answer again.
	Opened, Probes uint64
}

// State tells how the servers are.
func (c *Conn) State() State {
	s := c.watch.state()
	n := &c.counts
	s.Calls, s.RoundTrips = n.calls.Load(), n.roundTrips.Load()
	s.Timeouts, s.Errors, s.Busy, s.LeftAlone = n.timeouts.Load(), n.errors.Load(), n.busy.Load(), n.leftAlone.Load()
	s.Probes = n.probes.Load()
	sum := c.sum()
	s.InFlight, s.RoundTrip, s.Opened = sum.waiting, sum.trip, sum.opened
	if s.RoundTrip == 0 { // no request has asked yet
		s.RoundTrip = time.Duration(c.leisure.Load())
	}
	if sum.cause != nil {
		s.Error = sum.cause.Error()
	}
	return s
}

// sum is what all lanes are together.
type sum struct {
	phases  [3]int // how many lanes are in each
	waiting int
	opened  uint64
	trip    time.Duration // of those that are used
	cause   error
}

func (c *Conn) sum() sum {
	var s sum
	used := 0
	for _, l := range c.lanes {
		l.mu.Lock()
		s.phases[l.breaker.phase]++
		s.waiting += l.waiting
		s.opened += uint64(l.breaker.era)
		if l.trip > 0 {
			s.trip += l.trip
			used++
		}
		if l.breaker.cause != nil {
			s.cause = l.breaker.cause
		}
		l.mu.Unlock()
	}
	s.trip /= time.Duration(max(used, 1))
	return s
}

func (s *sum) health(lanes int) Health {
	switch {
	case s.phases[closed] == lanes:
		return Up
	case s.phases[closed] > 0:
		return Partly
	case s.phases[ramping] > 0:
		return Probing
	}
	return Down
}

// watch tells of changes of health.
type watch struct {
	conn    *Conn
	log     *slog.Logger
	changed func(State)

	order  sync.Mutex // one change is told after the other
	mu     sync.Mutex
	health Health
	since  time.Time
	told   map[string]bool // what can be done, as told since the servers were well

	parts map[string]time.Time // when was told last of what servers answer some calls only
}

// partEvery is how often it is told that servers answer some calls, and others with the same fault.
const partEvery = time.Minute

// part tells that a call was well whose last one was not, by its answer: where both are asked for all the time nobody is left
// alone, and nothing else tells.
func (w *watch) part(cause error) {
	if cause == nil || !Answered(cause) {
		return
	}
	text, now := mend(cause), time.Now()
	w.mu.Lock()
	due := w.health == Up && now.Sub(w.parts[text]) >= partEvery
	if due {
		w.parts[text] = now
	}
	w.mu.Unlock()
	if due {
		w.log.Warn("redis does some of what it is asked, and not all", "error", cause, "mend", text)
	}
}

func (w *watch) state() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return State{Health: w.health, Since: w.since}
}

// look finds out how the servers are, and tells if that is new. No lane's lock may be held.
func (w *watch) look() {
	w.order.Lock()
	defer w.order.Unlock()
	s := w.conn.sum()
	health, now := s.health(len(w.conn.lanes)), time.Now()
	w.mu.Lock()
	before, since := w.health, w.since
	if health != before {
		w.health, w.since = health, now
		if health == Up {
			w.told = map[string]bool{}
		}
		w.told[mend(s.cause)] = true
	}
	w.mu.Unlock()
	if health == before {
		return
	}
	w.tell(health, now.Sub(since), s.cause)
	if w.changed != nil {
		w.changed(w.conn.State())
	}
}

// reason tells why servers are still left alone, if something else is to be done about that than was told. Servers of a cluster may
// have one reason each, and say them in turn for as long as they are away.
func (w *watch) reason(fault error) {
	w.mu.Lock()
	text := mend(fault)
	told := fault == nil || w.health == Up || w.health == Probing || w.told[text]
	if !told {
		w.told[text] = true
	}
	w.mu.Unlock()
	if !told {
		w.log.Warn("redis is still left alone, for another reason", "error", fault, "mend", text)
	}
}

// tell writes a line of a change of health, and what can be done about it.
func (w *watch) tell(health Health, before time.Duration, cause error) {
	before = before.Round(time.Millisecond)
	switch health {
	case Up:
		w.log.Info("redis answers again, and is asked for all requests", "after", before)
	case Probing:
		w.log.Info("redis answers again; requests come back by and by", "after", before)
	case Partly:
		w.log.Warn("part of the redis cluster is left alone until it is well", "error", cause, "mend", mend(cause))
	default:
		w.log.Warn("redis is left alone until it is well; on_store_failure says what limits do", "error", cause, "mend", mend(cause))
	}
}
