package fleet

import (
	"maps"
	"net/netip"
	"time"
)

// view is what a member knows of the rules.
type view struct {
	self    string // whose records are published again if they are lost
	records map[slot]*record
	// kept are rules that the kernel had at the start. The fleet may have said them once, or have taken them back: what it
	// says of the prefix now is so, and if that is nothing, they stay.
	kept map[netip.Prefix]*record
}

func newView(self string) view {
	return view{self: self, records: map[slot]*record{}, kept: map[netip.Prefix]*record{}}
}

// keep notes rules that the kernel has.
func (v *view) keep(rules []Rule, now time.Time) {
	for _, r := range rules {
		rec := &record{slot: slot{prefix: canonical(r.Prefix)}, rule: r}
		if r.For > 0 {
			rec.end = now.Add(r.For)
		}
		v.kept[rec.prefix] = rec
	}
}

// merge notes what the fleet says of a slot, and reports whether that is news.
func (v *view) merge(r *record) bool {
	if old := v.records[r.slot]; old != nil && old.at >= r.at {
		return false
	}
	v.records[r.slot] = r
	delete(v.kept, r.prefix)
	return true
}

// sweep forgets what has ended.
func (v *view) sweep(now time.Time) {
	maps.DeleteFunc(v.records, func(_ slot, r *record) bool { return r.ended(now) })
	maps.DeleteFunc(v.kept, func(_ netip.Prefix, r *record) bool { return r.ended(now) })
}

// winners returns the rule of each prefix, and when the first of those ends that hides another one; zero for never.
func (v *view) winners() (rules map[netip.Prefix]*record, next time.Time) {
	rules = make(map[netip.Prefix]*record, len(v.records)+len(v.kept))
	maps.Copy(rules, v.kept)
	for s, r := range v.records {
		if r.gone {
			continue
		}
		other := rules[s.prefix]
		if other == nil {
			rules[s.prefix] = r
			continue
		}
		if s.person {
			rules[s.prefix] = r
		}
		if person := rules[s.prefix]; !person.end.IsZero() && (next.IsZero() || person.end.Before(next)) {
			next = person.end
		}
	}
	return rules, next
}

// missing returns what this member has published and the set has not, or has only as it was before.
func (v *view) missing(seen map[slot]int64) (own []*record) {
	for s, r := range v.records {
		if at, there := seen[s]; r.rule.By == v.self && (!there || at < r.at) {
			own = append(own, r)
		}
	}
	return own
}

// known returns the latest that is known of a slot, and of a kept rule as of a hand-down; nil for nothing.
func (v *view) known(s slot) *record {
	if r := v.records[s]; r != nil {
		return r
	}
	if r := v.kept[s.prefix]; r != nil && !s.person {
		return r
	}
	return nil
}
