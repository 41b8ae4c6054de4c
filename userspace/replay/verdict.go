package replay

import (
	"time"

	"github.com/headgate/headgate/userspace/ruleset"
)

// Verdict is what some limits of a request come to, and the limit that decided.
type Verdict struct {
	Refused bool
	// Delay is how long the request waits, 0 if it is refused.
	Delay time.Duration
	// By is the first limit that refuses, or else the one that delays longest; nil if none does.
	By *ruleset.Applied
}

// Enforced returns what the rules do that are enforced.
func Enforced(d *ruleset.Decision) Verdict { return verdict(d, false) }

// DryRun returns what the rules with dry_run would do.
func DryRun(d *ruleset.Decision) Verdict { return verdict(d, true) }

func verdict(d *ruleset.Decision, dryRun bool) (v Verdict) {
	for i := range d.Limits {
		a := &d.Limits[i]
		switch {
		case a.DryRun != dryRun:
		case !a.Result.Allowed:
			return Verdict{Refused: true, By: a}
		case a.Result.Delay > v.Delay:
			v.Delay, v.By = a.Result.Delay, a
		}
	}
	return v
}

// Deciding returns the limit that a decision is told by: that of Enforced, or else that of DryRun, or
// else the one with the largest excess, the first of equals. It is nil if no limit was asked.
func Deciding(d *ruleset.Decision) *ruleset.Applied {
	if v := Enforced(d); v.By != nil {
		return v.By
	}
	if v := DryRun(d); v.By != nil {
		return v.By
	}
	var most *ruleset.Applied
	for i := range d.Limits {
		if a := &d.Limits[i]; most == nil || a.Result.Excess > most.Result.Excess {
			most = a
		}
	}
	return most
}
