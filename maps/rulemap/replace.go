package rulemap

import (
	"errors"
	"fmt"
	"iter"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/wire"
)

// Replaced is what a Replace did.
type Replaced struct {
	Written, Removed int // prefixes
	Done

	m   *Map
	all changes
}

// Replace makes rules, which are all of one origin, the only ones of it, or changes nothing where it
// returns an error. It goes over rules several times. What stays as it is is not touched; what is new is written before what is old is
// removed. progress, where not nil, is told how many prefixes are done. All rules of the maps are read.
func (m *Map) Replace(origin Origin, rules iter.Seq[Rule], progress func(done int)) (*Replaced, error) {
	r := &Replaced{m: m}
	var err error
	r.all, err = m.commit(func() (changes, error) { return r.plan(origin, rules) }, progress)
	if err != nil {
		return nil, err
	}
	for _, c := range r.all {
		if c.remove {
			r.Removed++
		} else {
			r.Written++
		}
	}
	return r, nil
}

// Undo makes all prefixes what they were before. Nobody else may have changed any since.
func (r *Replaced) Undo() error {
	m := r.m
	return m.changing(func() error {
		// For a moment there may be what is to come back beside what is to go.
		err := m.count(func(g *bpf.Global) error {
			g.Rules4 += uint64(r.Removed)
			g.Rules6 += uint64(r.Removed)
			return nil
		})
		if err != nil {
			return err
		}
		stay, leave := r.all.order()
		return errors.Join(m.revert(leave, r.all), m.revert(stay, r.all), m.recount(), m.tidy())
	})
}

// plan returns the changes that put rules in the place of all others of their origin.
func (r *Replaced) plan(origin Origin, rules iter.Seq[Rule]) (changes, error) {
	now := r.m.now()
	all := changes{}
	var people Allowed
	for rule := range rules {
		rule.Prefix, rule.Origin = wire.Prefix(rule.Prefix), origin
		all[rule.Prefix] = &change{}
		people.Add(rule)
	}
	r.Done = Done{}
	if err := r.without(origin, all, &people, now); err != nil {
		return nil, err
	}
	for rule := range rules {
		rule.Prefix, rule.Origin = wire.Prefix(rule.Prefix), origin
		applied, err := rule.apply(&all[rule.Prefix].after, now)
		if err != nil {
			return nil, fmt.Errorf("rule of %s: %w", rule.Prefix, err)
		}
		if !applied {
			r.GaveWay++
		}
	}
	all.dropSame()
	for _, c := range all {
		c.remove = !holds(&c.after, now)
	}
	return all, nil
}

// without fills in what the maps say of the prefixes of all, and adds those where there are other rules of
// the origin, or some to be lifted. What comes after is without those.
func (r *Replaced) without(origin Origin, all changes, people *Allowed, now uint64) error {
	for _, f := range r.m.families() {
		for e, err := range f.all() {
			if err != nil {
				return err
			}
			c, after := all[e.prefix], e.value
			strip(&after, origin)
			r.Lifted += people.lift(e.prefix, &after, now)
			if c == nil && after != e.value {
				c = &change{}
				all[e.prefix] = c
			}
			if c != nil {
				before := e.value
				c.before, c.after = &before, after
			}
		}
	}
	return nil
}
