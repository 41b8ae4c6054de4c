package redisstore

import (
	"log/slog"
	"sync"
	"time"

	"github.com/headgate/headgate/userspace/redisconn"
	"github.com/headgate/headgate/userspace/shared"
)

// Conn is what is needed of package redisconn.
type Conn interface {
	Do(call redisconn.Call, spent time.Duration) (string, error)
	Start(call redisconn.Call, done func(reply string, err error))
}

// Options are what a Store needs. Conn must be set.
type Options struct {
	Conn Conn
	// Prefix begins the name of each key.
	Prefix string
	// Clock tells the time since some instant, and does not go back. What this machine knows without asking ages by it. nil for the
	// time since New.
	Clock func() time.Duration
	Log   *slog.Logger // nil for slog.Default
}

// Store keeps limits in Redis. It is a shared.Store; all methods may be called at the same time, but for Run, which is called once.
type Store struct {
	conn    Conn
	prefix  string
	clock   func() time.Duration
	log     *slog.Logger
	scripts scripts
	seeds   seeds

	asks     sync.Pool // of *ask
	refusals memory[refusal]
	holdings memory[*holding]
	leases   leases
	counters counters
}

var _ shared.Store = (*Store)(nil)

// New returns a store.
func New(o Options) *Store {
	s := &Store{conn: o.Conn, prefix: o.Prefix, clock: o.Clock, log: o.Log, scripts: newScripts(), seeds: newSeeds(), leases: newLeases()}
	if s.clock == nil {
		began := time.Now()
		s.clock = func() time.Duration { return time.Since(began) }
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	s.asks.New = func() any { return new(ask) }
	return s
}

// Take implements shared.Store.
func (s *Store) Take(tag string, charges []shared.Charge, spent time.Duration) (allowed bool, err error) {
	a := s.begin()
	defer s.end(a)
	now := s.clock()
	for i := range charges {
		charges[i].Known, charges[i].Lease = false, ""
	}
	if err := a.prepare(s, tag, charges); err != nil {
		s.counters.errors.Add(1)
		return false, err
	}
	s.spend(a, charges, now)
	if s.refuse(a, charges, now) {
		s.putBack(a)
		s.counters.refusedLocally.Add(1)
		return false, nil
	}
	s.want(a, charges, now)
	lease := s.leases.name(a)
	allowed, err = s.ask(a, charges, charging, lease, spent)
	s.got(a, now)
	s.putBack(a)
	if err != nil {
		s.abandon(tag, a, lease, err)
		s.counters.errors.Add(1)
		return false, err
	}
	a.note(charges, lease)
	s.leases.begin(tag, a, charges, lease)
	s.remember(a, charges, now)
	s.counters.decisions.Add(1)
	return allowed, nil
}

// Peek implements shared.Store.
func (s *Store) Peek(tag string, charges []shared.Charge) error {
	a := s.begin()
	defer s.end(a)
	if err := a.prepare(s, tag, charges); err != nil {
		return err
	}
	_, err := s.ask(a, charges, peeking, "", 0)
	return err
}

func (s *Store) begin() *ask { return s.asks.Get().(*ask) }

func (s *Store) end(a *ask) {
	a.reset()
	s.asks.Put(a)
}

// ask asks the store for what this machine does not know, and decides. After an error nothing is charged.
func (s *Store) ask(a *ask, charges []shared.Charge, mode byte, lease string, spent time.Duration) (allowed bool, err error) {
	said := true
	switch {
	case a.open > 0:
		reply, err := s.conn.Do(a.call(&s.scripts, mode, lease), spent)
		if err == nil {
			said, err = a.read(charges, reply)
		}
		if err != nil {
			return false, err
		}
	case len(charges) > 0:
		s.counters.fromBatch.Add(1)
	}
	if allowed = a.decide(charges); allowed != said {
		a.disown(charges)
		return false, errNonsense
	}
	return allowed, nil
}
