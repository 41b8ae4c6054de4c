package fleet

import (
	"net/netip"
	"time"
)

// view is what a member knows of the rules.
type view struct {
	self   string // whose records are published again if they are lost
	places map[netip.Prefix]*place
}

// place is what is known of a prefix; nil for nothing.
type place struct {
	person, handDown *record
	// kept is a rule that the kernel had at the start. The fleet may have said it once, or have taken it back: what it says of
	// the prefix now is so, and if that is nothing, it stays.
	kept *record
}

func newView(self string) view { return view{self: self, places: map[netip.Prefix]*place{}} }

// at returns the place of a prefix, a new one if nothing is known of it.
func (v *view) at(prefix netip.Prefix) *place {
	p := v.places[prefix]
	if p == nil {
		p = &place{}
		v.places[prefix] = p
	}
	return p
}

// of returns where the record of a slot is.
func (p *place) of(s slot) **record {
	if s.person {
		return &p.person
	}
	return &p.handDown
}

// keep notes rules that the kernel has.
func (v *view) keep(rules []Rule, now time.Time) {
	for _, rule := range rules {
		r := &record{slot: slot{prefix: canonical(rule.Prefix)}, rule: rule}
		if rule.For > 0 {
			r.end = now.Add(rule.For)
		}
		v.at(r.prefix).kept = r
	}
}

// merge notes what the fleet says of a slot, and reports whether that is news.
func (v *view) merge(r *record) bool {
	p := v.at(r.prefix)
	at := p.of(r.slot)
	if *at != nil && (*at).at >= r.at {
		return false
	}
	*at, p.kept = r, nil
	return true
}

// sweep forgets what has ended. It reports whether anything is left.
func (p *place) sweep(now time.Time) bool {
	for _, at := range []**record{&p.person, &p.handDown, &p.kept} {
		if *at != nil && (*at).ended(now) {
			*at = nil
		}
	}
	return *p != place{}
}

// winner returns the rule that is so, and whether there is another one that is when it ends.
func (p *place) winner() (r *record, hides bool) {
	for _, one := range []*record{p.person, p.handDown, p.kept} {
		switch {
		case one == nil || one.gone:
		case r == nil:
			r = one
		default:
			return r, true
		}
	}
	return r, false
}

// winners forgets what has ended and returns the rule of each prefix, and when the first of those ends that hides another
// one; zero for never.
func (v *view) winners(now time.Time) (rules []*record, next time.Time) {
	rules = make([]*record, 0, len(v.places))
	for prefix, p := range v.places {
		if !p.sweep(now) {
			delete(v.places, prefix)
			continue
		}
		r, hides := p.winner()
		if r != nil {
			rules = append(rules, r)
		}
		if hides && !r.end.IsZero() && (next.IsZero() || r.end.Before(next)) {
			next = r.end
		}
	}
	return rules, next
}

// missing returns what this member has published and the set has not, or has only as it was before.
func (v *view) missing(seen map[slot]int64) (own []*record) {
	for _, p := range v.places {
		for _, r := range []*record{p.person, p.handDown} {
			if r == nil || r.rule.By != v.self {
				continue
			}
			if at, there := seen[r.slot]; !there || at < r.at {
				own = append(own, r)
			}
		}
	}
	return own
}

// unset returns the word by which a rule was taken back; nil if it was not. Of a kept rule that may be of either slot.
func (v *view) unset(r *record) *record {
	p := v.places[r.prefix]
	if p == nil {
		return nil
	}
	for _, one := range []*record{p.person, p.handDown} {
		if one != nil && one.gone && one.at > r.at && (one.slot == r.slot || r.at == 0) {
			return one
		}
	}
	return nil
}

// known returns what is known of a slot, of a kept rule as of a hand-down; nil for nothing.
func (v *view) known(s slot) *record {
	p := v.places[s.prefix]
	if p == nil {
		return nil
	}
	if r := *p.of(s); r != nil || s.person {
		return r
	}
	return p.kept
}
