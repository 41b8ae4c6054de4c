package rulemap

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/wire"
)

// ErrFull is in the error of a change that would need more rules than the map can hold.
var ErrFull = errors.New("the rule table is full")

// Map is the rules of one instance. Reading is safe beside anything; only one process at a time
// may change it, which the loader's lock ensures.
type Map struct {
	v4, v6  trie
	globals *ebpf.Map
	now     func() uint64
}

// New returns a view of the maps, which stay the caller's. now is the boot clock
// (wire.BootTime, but for tests).
func New(rules4, rules6, globals *ebpf.Map, now func() uint64) *Map {
	return &Map{v4: newTrie4(rules4), v6: newTrie6(rules6), globals: globals, now: now}
}

// Set adds one rule, or replaces the one of the same action at the same prefix. A prefix has at
// most one Limit rule, so one for another policy is replaced too; see Get.
func (m *Map) Set(rule Rule) error { return m.SetAll([]Rule{rule}, nil) }

// SetAll sets many rules, or none where it returns an error. Rules that have ended are swept out
// where that costs little, or makes the room that is missing. progress, where not nil, is told
// how many prefixes are written.
func (m *Map) SetAll(rules []Rule, progress func(done int)) error {
	if err := m.sweepIfSmall(); err != nil {
		return err
	}
	changes, err := m.changes(rules)
	if err != nil {
		return err
	}
	err = m.reserve(changes)
	if errors.Is(err, ErrFull) {
		if err := m.Sweep(); err != nil {
			return err
		}
		if changes, err = m.changes(rules); err != nil {
			return err
		}
		err = m.reserve(changes)
	}
	if err != nil {
		return err
	}
	return m.write(changes, progress)
}

// change is a prefix's value before and after.
type change struct {
	before, after bpf.Rule
	existed       bool
}

// changes merges rules with what the maps say of their prefixes.
func (m *Map) changes(rules []Rule) (map[netip.Prefix]*change, error) {
	changes := make(map[netip.Prefix]*change, len(rules))
	for _, rule := range rules {
		rule.Prefix = wire.Prefix(rule.Prefix)
		c, ok := changes[rule.Prefix]
		if !ok {
			value, existed, err := m.trie(rule.Prefix).get(rule.Prefix)
			if err != nil {
				return nil, err
			}
			c = &change{before: value, after: value, existed: existed}
			changes[rule.Prefix] = c
		}
		if err := rule.apply(&c.after); err != nil {
			return nil, fmt.Errorf("rule of %s: %w", rule.Prefix, err)
		}
	}
	return changes, nil
}

// reserve counts the rules that changes add, before they are written: the program looks into a
// trie only where there may be a rule, so the count may be too high at any moment but not too low.
func (m *Map) reserve(changes map[netip.Prefix]*change) error {
	var added4, added6 uint64
	for prefix, c := range changes {
		switch {
		case c.existed:
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
			return fmt.Errorf("%w: %d IPv4 and %d IPv6 prefixes, of at most %d each; "+
				"attach with a larger --max-rules, or unset some",
				ErrFull, g.Rules4, g.Rules6, m.v4.maxEntries())
		}
		return nil
	})
}

// count changes the two counts. Only userspace writes this map, under the loader's lock.
func (m *Map) count(update func(*bpf.Global) error) error {
	var g bpf.Global
	if err := m.globals.Lookup(uint32(0), &g); err != nil {
		return fmt.Errorf("read the rule counts: %w", err)
	}
	before := g
	if err := update(&g); err != nil || g == before {
		return err
	}
	if err := m.globals.Put(uint32(0), &g); err != nil {
		return fmt.Errorf("write the rule counts: %w", err)
	}
	return nil
}

// write puts the changes into the maps in a fixed order, and takes those back that are in where
// one fails.
func (m *Map) write(changes map[netip.Prefix]*change, progress func(int)) error {
	prefixes := slices.SortedFunc(maps.Keys(changes), comparePrefixes)
	done := 0
	for part := range slices.Chunk(prefixes, chunk) {
		if err := m.put(part, changes); err != nil {
			return errors.Join(err, m.revert(prefixes[:done+len(part)], changes), m.recount())
		}
		done += len(part)
		if progress != nil {
			progress(done)
		}
	}
	return nil
}

func (m *Map) put(prefixes []netip.Prefix, changes map[netip.Prefix]*change) error {
	for _, t := range []trie{m.v4, m.v6} {
		var keys []netip.Prefix
		var values []bpf.Rule
		for _, p := range prefixes {
			if m.trie(p) == t {
				keys, values = append(keys, p), append(values, changes[p].after)
			}
		}
		if len(keys) == 0 {
			continue
		}
		if err := t.put(keys, values); err != nil {
			return err
		}
	}
	return nil
}

func (m *Map) revert(prefixes []netip.Prefix, changes map[netip.Prefix]*change) error {
	var errs []error
	for _, p := range prefixes {
		c := changes[p]
		if c.existed {
			errs = append(errs, m.trie(p).put([]netip.Prefix{p}, []bpf.Rule{c.before}))
		} else {
			errs = append(errs, m.trie(p).delete(p))
		}
	}
	return errors.Join(errs...)
}

// Get returns the rules of exactly this prefix that hold now.
func (m *Map) Get(prefix netip.Prefix) ([]Rule, error) {
	prefix = wire.Prefix(prefix)
	value, ok, err := m.trie(prefix).get(prefix)
	if err != nil || !ok {
		return nil, err
	}
	return rulesOf(prefix, &value, m.now()), nil
}

// Unset removes all rules of these prefixes. It returns those prefixes that had one.
func (m *Map) Unset(prefixes []netip.Prefix) ([]netip.Prefix, error) {
	var removed []netip.Prefix
	for _, p := range prefixes {
		p = wire.Prefix(p)
		value, ok, err := m.trie(p).get(p)
		if err != nil {
			return removed, err
		}
		if !ok {
			continue
		}
		if err := m.remove(p); err != nil {
			return removed, err
		}
		if len(rulesOf(p, &value, m.now())) > 0 {
			removed = append(removed, p)
		}
	}
	return removed, nil
}

// remove deletes a prefix that is in the map, and counts it out afterwards.
func (m *Map) remove(p netip.Prefix) error {
	if err := m.trie(p).delete(p); err != nil {
		return err
	}
	return m.count(func(g *bpf.Global) error {
		if p.Addr().Is4() {
			g.Rules4--
		} else {
			g.Rules6--
		}
		return nil
	})
}

// List returns all rules that hold now, by prefix, IPv4 first.
func (m *Map) List() ([]Rule, error) {
	var rules []Rule
	now := m.now()
	for _, t := range []trie{m.v4, m.v6} {
		for e, err := range t.all() {
			if err != nil {
				return nil, err
			}
			rules = append(rules, rulesOf(e.prefix, &e.value, now)...)
		}
	}
	slices.SortStableFunc(rules, func(a, b Rule) int {
		return cmp.Or(comparePrefixes(a.Prefix, b.Prefix), -cmp.Compare(a.Action, b.Action))
	})
	// Beside another process that removes rules the kernel may begin a listing anew.
	return slices.CompactFunc(rules, func(a, b Rule) bool {
		return a.Prefix == b.Prefix && a.Action == b.Action
	}), nil
}

// sweepIfSmall sweeps where listing everything takes no more than a system call.
func (m *Map) sweepIfSmall() error {
	var g bpf.Global
	if err := m.globals.Lookup(uint32(0), &g); err != nil {
		return fmt.Errorf("read the rule counts: %w", err)
	}
	if total := g.Rules4 + g.Rules6; total == 0 || total > chunk {
		return nil
	}
	return m.Sweep()
}

// Sweep removes what is left of rules that have ended, which the program ignores anyway. It counts
// afresh: a SetAll that was killed leaves the counts too high.
func (m *Map) Sweep() error {
	now := m.now()
	var kept [2]uint64
	for i, t := range []trie{m.v4, m.v6} {
		var ended []netip.Prefix
		for e, err := range t.all() {
			if err != nil {
				return err
			}
			if len(rulesOf(e.prefix, &e.value, now)) == 0 {
				ended = append(ended, e.prefix)
			} else {
				kept[i]++
			}
		}
		for _, p := range ended {
			if err := t.delete(p); err != nil {
				return err
			}
		}
	}
	return m.setCounts(kept)
}

// recount sets the counts to what is in the tries.
func (m *Map) recount() error {
	var counts [2]uint64
	for i, t := range []trie{m.v4, m.v6} {
		for _, err := range t.all() {
			if err != nil {
				return err
			}
			counts[i]++
		}
	}
	return m.setCounts(counts)
}

func (m *Map) setCounts(counts [2]uint64) error {
	return m.count(func(g *bpf.Global) error {
		g.Rules4, g.Rules6 = counts[0], counts[1]
		return nil
	})
}

func (m *Map) trie(p netip.Prefix) trie {
	if p.Addr().Is4() {
		return m.v4
	}
	return m.v6
}

func comparePrefixes(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}
