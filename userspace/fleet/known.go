package fleet

import (
	"net/netip"
	"slices"
	"time"
)

// Known is a rule of the fleet as this machine has it.
type Known struct {
	Rule // For is how long it holds from now on
	// InForce reports whether the kernel was told of it, and Spared is why it was not, as something protects the prefix;
	// empty where it was, and where no rules are followed.
	InForce bool
	Spared  string
}

// known is what the follower leaves for others: records are its own.
type known struct {
	rule    Rule
	end     time.Time
	verdict string
	inForce bool
}

// show leaves the rules for others to see, as they are now.
func (a *follower) show(winners []*record) {
	all := make([]known, len(winners))
	for i, r := range winners {
		all[i] = known{r.rule, r.end, r.verdict, r.inForce}
	}
	a.shown.Store(&all)
}

// still returns the rules that were shown and have not ended.
func (f *Fleet) still(now time.Time) (all []known) {
	for _, k := range *f.shown.Load() {
		if k.end.IsZero() || now.Before(k.end) {
			all = append(all, k)
		}
	}
	return all
}

// Rules returns the rules of the fleet, by prefix, as far as they are known here. It asks nobody.
func (f *Fleet) Rules() []Known {
	now := time.Now()
	all := []Known{}
	for _, k := range f.still(now) {
		one := Known{Rule: k.rule, InForce: k.inForce, Spared: k.verdict}
		if !k.end.IsZero() {
			one.For = k.end.Sub(now)
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Known) int { return a.Prefix.Compare(b.Prefix) })
	return all
}

// Spared returns why rules are not in force here: of prefixes, those that something protects.
func (f *Fleet) Spared(prefixes []netip.Prefix) map[netip.Prefix]string {
	all := map[netip.Prefix]string{}
	asked := map[netip.Prefix]bool{}
	for _, p := range prefixes {
		asked[canonical(p)] = true
	}
	for _, k := range f.still(time.Now()) {
		if k.verdict != "" && asked[k.rule.Prefix] {
			all[k.rule.Prefix] = k.verdict
		}
	}
	return all
}
