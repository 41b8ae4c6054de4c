package rulemap

import (
	"net/netip"
	"slices"

	"github.com/headgate/headgate/bpf"
)

// The longest prefix decides, so that what was handed down of one source would go before an allow rule for its network.
// Whoever allows that means the source too: setting an allow rule lifts what was handed down inside.

// Allowed is prefixes that people allow. The zero value has none.
type Allowed struct {
	prefixes map[netip.Prefix]struct{}
	lengths  map[int][]int // in bits, ascending, by those of an address: 32 or 128
}

// Add adds the prefix of a rule, which is canonical, if it is one by which rules are lifted.
func (a *Allowed) Add(r Rule) {
	if r.Action != Allow || !r.Origin.byPeople() {
		return
	}
	if a.prefixes == nil {
		a.prefixes, a.lengths = map[netip.Prefix]struct{}{}, map[int][]int{}
	}
	a.prefixes[r.Prefix] = struct{}{}
	lengths := a.lengths[r.Prefix.Addr().BitLen()]
	if n, found := slices.BinarySearch(lengths, r.Prefix.Bits()); !found {
		a.lengths[r.Prefix.Addr().BitLen()] = slices.Insert(lengths, n, r.Prefix.Bits())
	}
}

// Contain reports whether all of a prefix, which is canonical, is allowed.
func (a *Allowed) Contain(p netip.Prefix) bool {
	for _, bits := range a.lengths[p.Addr().BitLen()] {
		if bits > p.Bits() {
			return false
		}
		if _, found := a.prefixes[netip.PrefixFrom(p.Addr(), bits).Masked()]; found {
			return true
		}
	}
	return false
}

// wide says whether one of the prefixes, of addresses of so many bits, contains others.
func (a *Allowed) wide(bits int) bool {
	lengths := a.lengths[bits]
	return len(lengths) > 0 && lengths[0] < bits
}

// lift takes out of the value of a prefix what was handed down, here or elsewhere, if the prefix is allowed. It returns how many rules
// that held at time now.
func (a *Allowed) lift(p netip.Prefix, value *bpf.Rule, now uint64) (lifted int) {
	for _, action := range []Action{Block, Limit} {
		if value.Until[action] == 0 || Origin(value.Origin[action]).byPeople() || !a.Contain(p) {
			continue
		}
		if value.Until[action] > now {
			lifted++
		}
		clearAction(value, action)
	}
	return lifted
}

// liftAll adds to changes what has to be lifted, and returns how many rules. All rules of a family are read, unless
// only single addresses of it are allowed.
func (m *Map) liftAll(all changes, a *Allowed, now uint64) (lifted int, err error) {
	for p, c := range all {
		lifted += a.lift(p, &c.after, now)
	}
	for bits, t := range map[int]table{32: m.v4, 128: m.v6} {
		if !a.wide(bits) {
			continue
		}
		n, err := liftFrom(t, all, a, now)
		if err != nil {
			return 0, err
		}
		lifted += n
	}
	return lifted, nil
}

// liftFrom adds what has to be lifted of a family.
func liftFrom(t table, all changes, a *Allowed, now uint64) (lifted int, err error) {
	for e, err := range t.all() {
		if err != nil {
			return 0, err
		}
		if all[e.prefix] != nil {
			continue
		}
		after := e.value
		lifted += a.lift(e.prefix, &after, now)
		if after != e.value {
			before := e.value
			all[e.prefix] = &change{before: &before, after: after, remove: !holds(&after, now)}
		}
	}
	return lifted, nil
}
