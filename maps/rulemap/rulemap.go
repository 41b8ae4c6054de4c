package rulemap

import (
	"cmp"
	"errors"
	"iter"
	"net/netip"
	"slices"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/rulefilter"
	"github.com/headgate/headgate/maps/wire"
)

// ErrFull is in the error of a change that would need more rules than the map can hold.
var ErrFull = errors.New("the rule table is full")

// Map is the rules of one instance. Reading is safe beside anything; only one process at a time
// may change it, which the loader's lock ensures.
type Map struct {
	v4, v6  *family
	globals *ebpf.Map
	now     func() uint64
}

// New returns a view of the maps, by their names in package bpf, which stay the caller's. now is the
// boot clock (wire.BootTime, but for tests).
func New(maps map[string]*ebpf.Map, now func() uint64) *Map {
	ladders := maps[bpf.MapRuleLadders]
	return &Map{
		v4: &family{
			table:  newTable4(maps[bpf.MapRules4]),
			number: uint8(bpf.FamilyIPv4),
			maps:   rulefilter.Maps{Ladders: ladders, Filter: maps[bpf.MapRuleFilter4], Regions: maps[bpf.MapRuleRegions4], Blocks: maps[bpf.MapRuleBlocks4]},
		},
		v6: &family{
			table:  newTable6(maps[bpf.MapRules6]),
			number: uint8(bpf.FamilyIPv6),
			maps:   rulefilter.Maps{Ladders: ladders, Filter: maps[bpf.MapRuleFilter6]},
		},
		globals: maps[bpf.MapGlobals],
		now:     now,
	}
}

// SetSizes makes the maps of a spec for so many prefixes of each family.
func SetSizes(maps map[string]*ebpf.MapSpec, prefixes uint32) {
	maps[bpf.MapRules4].MaxEntries = prefixes
	maps[bpf.MapRules6].MaxEntries = prefixes
	rulefilter.SetSizes(maps, prefixes)
}

// ErrHeld is the error of Set where the rule gives way to one that holds at the prefix, see Rule.GivesWay.
var ErrHeld = errors.New("nothing was changed: a rule of another origin says the same there, and for longer")

// Done is what a change did beside what was asked for.
type Done struct {
	// GaveWay is how many rules were left out, as another one holds there, see Rule.GivesWay.
	GaveWay int
	// Lifted is how many rules that were handed down, here or elsewhere, were removed, as people allow what they were for.
	Lifted int
}

// Set is SetAll of one rule; it is an error that the rule gives way.
func (m *Map) Set(rule Rule) error {
	done, err := m.SetAll([]Rule{rule}, nil)
	if err == nil && done.GaveWay > 0 {
		err = ErrHeld
	}
	return err
}

// SetAll adds rules, or replaces those of the same action at the same prefixes, all or none where it returns an error.
// A prefix has at most one Limit rule, so one for another policy is replaced too; see Get. An Allow rule of people lifts
// what was handed down inside its prefix. Rules that have ended are swept out where that costs little, or makes the
// room that is missing. What stays as it is is not written. progress, where not nil, is told how many prefixes are.
func (m *Map) SetAll(rules []Rule, progress func(done int)) (Done, error) {
	left, lifted, err := m.Exchange(nil, rules, progress)
	return Done{GaveWay: len(left), Lifted: lifted}, err
}

// Get returns the rules of exactly this prefix that hold now.
func (m *Map) Get(prefix netip.Prefix) ([]Rule, error) {
	prefix = wire.Prefix(prefix)
	value, ok, err := m.family(prefix).get(prefix)
	if err != nil || !ok {
		return nil, err
	}
	return rulesOf(prefix, &value, m.now()), nil
}

// About returns the rules that contain an address, of all prefix lengths. An IPv4-mapped address is the
// IPv4 one.
func (m *Map) About(addr netip.Addr) ([]Rule, error) {
	return m.Containing(netip.PrefixFrom(addr, addr.BitLen()))
}

// Containing returns the rules of all prefixes that contain a prefix, itself included, the shortest first.
func (m *Map) Containing(prefix netip.Prefix) ([]Rule, error) {
	prefix = wire.Prefix(prefix)
	now := m.now()
	var all []Rule
	for bits := range prefix.Bits() + 1 {
		shorter := netip.PrefixFrom(prefix.Addr(), bits).Masked()
		value, ok, err := m.family(prefix).get(shorter)
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, rulesOf(shorter, &value, now)...)
		}
	}
	return all, nil
}

// Unset removes all rules of these prefixes. It returns those prefixes that had one.
func (m *Map) Unset(prefixes []netip.Prefix) (removed []netip.Prefix, err error) {
	err = m.changing(func() error {
		for _, p := range prefixes {
			held, err := m.remove(wire.Prefix(p))
			if err != nil {
				return errors.Join(err, m.countRemoved())
			}
			if held {
				removed = append(removed, wire.Prefix(p))
			}
		}
		return errors.Join(m.countRemoved(), m.tidy())
	})
	return removed, err
}

// remove deletes a prefix if it is in the map, and says whether a rule of it held.
func (m *Map) remove(p netip.Prefix) (held bool, err error) {
	value, ok, err := m.family(p).find(p)
	if err != nil || !ok {
		return false, err
	}
	return holds(&value, m.now()), m.family(p).delete(p)
}

// countRemoved counts out what was deleted, afterwards: see reserve.
func (m *Map) countRemoved() error {
	return m.count(func(g *bpf.Global) error {
		for _, f := range m.families() {
			live, _ := f.counts(g)
			*live -= f.removed
		}
		return nil
	})
}

// All yields all rules that hold now, in no order.
func (m *Map) All() iter.Seq2[Rule, error] {
	return func(yield func(Rule, error) bool) {
		now := m.now()
		for _, f := range m.families() {
			for e, err := range f.all() {
				if err != nil {
					yield(Rule{}, err)
					return
				}
				for _, rule := range rulesOf(e.prefix, &e.value, now) {
					if !yield(rule, nil) {
						return
					}
				}
			}
		}
	}
}

// List returns all rules that hold now, by prefix, IPv4 first.
func (m *Map) List() ([]Rule, error) {
	var rules []Rule
	for rule, err := range m.All() {
		if err != nil {
			return nil, err
		}
		rules = append(rules, rule)
	}
	slices.SortStableFunc(rules, func(a, b Rule) int {
		return cmp.Or(comparePrefixes(a.Prefix, b.Prefix), -cmp.Compare(a.Action, b.Action))
	})
	return rules, nil
}

func (m *Map) families() [2]*family { return [...]*family{m.v4, m.v6} }

func (m *Map) family(p netip.Prefix) *family {
	if p.Addr().Is4() {
		return m.v4
	}
	return m.v6
}

func comparePrefixes(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}
