package rulemap

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/headgate/headgate/bpf"
)

// change is a prefix's value before and after.
type change struct {
	before *bpf.Rule // nil where there was none
	after  bpf.Rule
	remove bool // there is to be none after
}

type changes map[netip.Prefix]*change

// dropSame leaves out the prefixes of which nothing changes.
func (all changes) dropSame() {
	maps.DeleteFunc(all, func(_ netip.Prefix, c *change) bool { return c.before != nil && c.after == *c.before })
}

// commit makes all changes that plan returns, or none where it returns an error. It plans again after
// it has made room.
func (m *Map) commit(plan func() (changes, error), progress func(done int)) (all changes, err error) {
	err = m.changing(func() error {
		all, err = m.plan(plan)
		if err != nil {
			return err
		}
		return m.write(all, progress)
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// plan returns the changes that plan does, with room reserved for them.
func (m *Map) plan(plan func() (changes, error)) (changes, error) {
	if err := m.sweepIfSmall(); err != nil {
		return nil, err
	}
	all, err := plan()
	if err != nil {
		return nil, err
	}
	err = m.reserve(all)
	if errors.Is(err, ErrFull) {
		if err := m.sweep(); err != nil {
			return nil, err
		}
		if all, err = plan(); err != nil {
			return nil, err
		}
		err = m.reserve(all)
	}
	return all, err
}

// reserve counts the rules that changes add, before they are written: the program looks for rules
// only where there may be one, so the count may be too high at any moment but not too low.
func (m *Map) reserve(all changes) error {
	var added4, added6 uint64
	for prefix, c := range all {
		switch {
		case c.before != nil:
		case prefix.Addr().Is4():
			added4++
		default:
			added6++
		}
	}
	return m.count(func(g *bpf.Global) error {
		g.Rules4 += added4
		g.Rules6 += added6
		if g.Rules4 > uint64(m.v4.maxEntries()) || g.Rules6 > uint64(m.v6.maxEntries()) {
			return fmt.Errorf("%w: there would be %d IPv4 and %d IPv6 prefixes, of at most %d each; `headgate unset` some, or have a "+
				"larger table: `headgate detach --all`, and then attach with --max-rules, or start the agent with kernel.max_rules",
				ErrFull, g.Rules4, g.Rules6, m.v4.maxEntries())
		}
		return nil
	})
}

// write puts the changes into the maps in a fixed order, what is to go last, and takes those back that
// are in where one fails.
func (m *Map) write(all changes, progress func(int)) error {
	stay, leave := all.order()
	done := 0
	for _, step := range []struct {
		prefixes []netip.Prefix
		do       func([]netip.Prefix, changes) error
	}{{stay, m.put}, {leave, m.drop}} {
		for part := range slices.Chunk(step.prefixes, chunk) {
			if err := step.do(part, all); err != nil {
				begun := slices.Concat(stay, leave)[:done+len(part)]
				return errors.Join(err, m.revert(begun, all), m.recount())
			}
			done += len(part)
			if progress != nil {
				progress(done)
			}
		}
	}
	if err := m.countOut(all); err != nil {
		return err
	}
	return m.tidy()
}

// order returns the prefixes that stay and those that go, each in the order in which they are written.
func (all changes) order() (stay, leave []netip.Prefix) {
	for p, c := range all {
		if c.remove {
			leave = append(leave, p)
		} else {
			stay = append(stay, p)
		}
	}
	slices.SortFunc(stay, comparePrefixes)
	slices.SortFunc(leave, comparePrefixes)
	return stay, leave
}

func (m *Map) put(prefixes []netip.Prefix, all changes) error {
	for _, f := range m.families() {
		var keys []netip.Prefix
		var values []bpf.Rule
		for _, p := range prefixes {
			if m.family(p) == f {
				keys, values = append(keys, p), append(values, all[p].after)
			}
		}
		if len(keys) == 0 {
			continue
		}
		if err := f.put(keys, values); err != nil {
			return err
		}
	}
	return nil
}

func (m *Map) drop(prefixes []netip.Prefix, _ changes) error {
	for _, p := range prefixes {
		if err := m.family(p).delete(p); err != nil {
			return err
		}
	}
	return nil
}

// countOut counts out what was removed, afterwards: see reserve.
func (m *Map) countOut(all changes) error {
	return m.count(func(g *bpf.Global) error {
		for p, c := range all {
			switch {
			case !c.remove:
			case p.Addr().Is4():
				g.Rules4--
			default:
				g.Rules6--
			}
		}
		return nil
	})
}

func (m *Map) revert(prefixes []netip.Prefix, all changes) error {
	var errs []error
	for _, p := range prefixes {
		if c := all[p]; c.before != nil {
			errs = append(errs, m.family(p).put([]netip.Prefix{p}, []bpf.Rule{*c.before}))
		} else {
			errs = append(errs, m.family(p).delete(p))
		}
	}
	return errors.Join(errs...)
}
