package redisstore

import (
	"fmt"
	"strconv"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/redisconn"
	"github.com/headgate/headgate/userspace/shared"
)

// Return implements shared.Store.
func (s *Store) Return(tag string, charges []shared.Charge) {
	s.Release(tag, charges)
	a := s.begin()
	defer s.end(a)
	if err := a.prepare(s, tag, charges); err != nil {
		return // Take charged nothing
	}
	var keys []string
	args := []byte{charging}
	for i := range a.each {
		one, u := &a.each[i], undoingOf(charges[i].Result)
		switch {
		case u.n == 0:
			continue
		case u.spent:
			if h, ok := s.holdings.get(one.id); ok {
				h.putBack(u.n, u.since, s.clock())
			}
		default:
			keys = append(keys, string(a.text[one.name:one.end]))
			args = one.terms.appendUndo(args, u)
		}
		s.refusals.drop(one.id)
	}
	if len(keys) > 0 {
		s.giveBack(redisconn.Call{Script: s.scripts.giveBack.Script, Keys: keys, Args: []string{string(args)}})
	}
}

// giveBack runs return.lua.
func (s *Store) giveBack(call redisconn.Call) {
	s.conn.Start(call, func(_ string, err error) {
		if err != nil {
			s.log.Debug("what a request did not use was not given back to redis", "error", err)
		}
	})
}

// Release implements shared.Store.
func (s *Store) Release(_ string, charges []shared.Charge) {
	if those := s.leases.end(charges); len(those) > 0 {
		s.release(those)
	}
}

// Forget implements shared.Store. What is under way ends by itself: of concurrent it does nothing, and reports false, as keyed.Slots
// does.
func (s *Store) Forget(tag, zone, key string, l shared.Limit) (bool, error) {
	t, err := termsOf(l)
	if err != nil {
		return false, fmt.Errorf("zone %s: %w", zone, err)
	}
	if l.Algorithm == config.Concurrent {
		return false, nil
	}
	name := appendName(nil, s.prefix, tag, t, zone, key)
	reply, err := s.conn.Do(redisconn.Call{Script: s.scripts.forget.Script, Keys: []string{string(name)}}, 0)
	k := s.seeds.of(name)
	s.refusals.drop(k)
	s.holdings.drop(k)
	if err != nil {
		return false, err
	}
	n, err := strconv.Atoi(reply)
	if err != nil || n < 0 || n > 1 {
		return false, errNonsense
	}
	return n == 1, nil
}
