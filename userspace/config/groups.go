package config

import (
	"cmp"
	"slices"
)

// Group is zones of StoreRedis whose limits may be asked about one request. A store keeps all keys that it decides about at once in
// one place, so that these zones need something in common by which that place is found.
type Group struct {
	Zones []int // indexes in HTTP.Zones, ascending; at least one
	// Parts are what the keys of all have, in an order that goes by the parts alone. None of a single zone that has them all,
	// and none where there is nothing.
	Parts []KeyPart
}

// Groups returns the groups of the zones of StoreRedis, each zone being in one. They follow from the rules alone: zones
// are in one group if a rule uses both, or a rule with continue uses one and a rule behind it that may match too the
// other, or if both are in a group with a third.
//
// A path that has ".." is read in two ways, and each of them may reach rules that the other does not. So a request
// may have limits of two groups, but those that it has by one reading are of one.
func (h *HTTP) Groups() []Group {
	of := make([]int, len(h.Zones)) // for each zone, the first one that is known to be in its group
	for i := range of {
		of[i] = i
	}
	h.unite(of)
	var all []Group
	number := make(map[int]int)
	for i, z := range h.Zones {
		if z.Store != StoreRedis {
			continue
		}
		root := rootOf(of, i)
		n, has := number[root]
		if !has {
			n = len(all)
			number[root] = n
			all = append(all, Group{})
		}
		all[n].Zones = append(all[n].Zones, i)
	}
	for i := range all {
		all[i].Parts = h.common(all[i].Zones)
	}
	return all
}

// unite puts zones in one group that may limit the same request.
func (h *HTTP) unite(of []int) {
	rules := h.sharing()
	for _, r := range rules {
		unify(of, r.zones...)
	}
	if len(rules) > mostCompared {
		uniteAll(of, rules)
		return
	}
	for i, r := range rules {
		if r.Continue {
			r.unite(of, rules[i+1:])
		}
	}
}

// unite joins the zones of a rule with continue to those of rules behind it, up to one at which all of its requests end.
func (r sharing) unite(of []int, behind []sharing) {
	for _, b := range behind {
		if r.Match.meets(b.Match) {
			unify(of, r.zones[0], b.zones[0])
		}
		if !b.Continue && b.Match.covers(r.Match) {
			return
		}
	}
}

// uniteAll takes all rules behind the first with continue for rules that meet.
func uniteAll(of []int, rules []sharing) {
	first := slices.IndexFunc(rules, func(r sharing) bool { return r.Continue })
	if first < 0 {
		return
	}
	for _, r := range rules[first:] {
		unify(of, rules[first].zones[0], r.zones[0])
	}
}

// sharing is a rule with zones of StoreRedis.
type sharing struct {
	*Rule
	zones []int
}

func (h *HTTP) sharing() (all []sharing) {
	for i := range h.Rules {
		r := sharing{Rule: &h.Rules[i]}
		for _, u := range r.Limits {
			if u.Zone >= 0 && u.Zone < len(h.Zones) && h.Zones[u.Zone].Store == StoreRedis {
				r.zones = append(r.zones, u.Zone)
			}
		}
		if len(r.zones) > 0 {
			all = append(all, r)
		}
	}
	return all
}

// unify makes one group of those of zones.
func unify(of []int, zones ...int) {
	for _, z := range zones[1:] {
		a, b := rootOf(of, zones[0]), rootOf(of, z)
		of[max(a, b)] = min(a, b)
	}
}

func rootOf(of []int, zone int) int {
	for of[zone] != zone {
		of[zone] = of[of[zone]]
		zone = of[zone]
	}
	return zone
}

// meets reports whether a request may match both, by one reading of its path. It may be true although none does.
func (m Match) meets(o Match) bool {
	method := func(s string) bool { return slices.Contains(o.Method, s) }
	return (len(m.Method) == 0 || len(o.Method) == 0 || slices.ContainsFunc(m.Method, method)) &&
		m.Host.meets(o.Host) && m.Path.meets(o.Path)
}

// meets goes by covers: of two patterns that are no expressions and match the same text, one covers the other.
func (p Pattern) meets(o Pattern) bool {
	return p.Regexp != nil || o.Regexp != nil || p.covers(o) || o.covers(p)
}

// common returns the parts that the keys of all zones have. Of a single zone that is nothing: it has its whole key.
func (h *HTTP) common(zones []int) (parts []KeyPart) {
	if len(zones) < 2 {
		return nil
	}
	for _, p := range h.Zones[zones[0]].Key {
		lacks := func(i int) bool { return !h.hasPart(i, p, zones[0]) }
		if !slices.ContainsFunc(zones[1:], lacks) {
			parts = append(parts, p)
		}
	}
	slices.SortFunc(parts, func(a, b KeyPart) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return parts
}

// hasPart reports whether the key of zone i has part p as that of another zone has it.
func (h *HTTP) hasPart(i int, p KeyPart, other int) bool {
	if p.Kind == KeyIP && h.prefixesOf(i) != h.prefixesOf(other) {
		return false
	}
	return slices.Contains(h.Zones[i].Key, p)
}

// prefixesOf returns how much of an address a zone's keys have.
func (h *HTTP) prefixesOf(i int) [2]int {
	z, c := &h.Zones[i], &h.ClientIP
	return [2]int{cmp.Or(z.IPv4Prefix, c.IPv4Prefix), cmp.Or(z.IPv6Prefix, c.IPv6Prefix)}
}
