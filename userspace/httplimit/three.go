package httplimit

import "github.com/headgate/headgate/userspace/ruleset"

// three is one of the older families: the canonical names of three fields about one limit.
type three struct{ limit, remaining, reset string }

func (r *Response) three(d *ruleset.Decision, t three) {
	a := Strictest(d)
	if a == nil {
		return
	}
	r.text = appendInteger(r.text, a.Result.Limit)
	r.end(t.limit)
	r.text = appendInteger(r.text, a.Result.Remaining)
	r.end(t.remaining)
	r.text = appendInteger(r.text, moreAfter(d, a))
	r.end(t.reset)
}

// Strictest returns the limit that leaves least, of equal ones that which takes longer to leave more; nil if no
// limit is enforced whose state is known. It is the one that the older families of fields are about. Of a refused request's limits it is one of those that refused.
func Strictest(d *ruleset.Decision) *ruleset.Applied {
	var least *ruleset.Applied
	for i := range d.Limits {
		a := &d.Limits[i]
		if a.DryRun || a.Unknown || !d.Allowed && a.Result.Allowed {
			continue
		}
		if least == nil || leavesLess(a, least) {
			least = a
		}
	}
	return least
}

func leavesLess(a, b *ruleset.Applied) bool {
	if a.Result.Remaining != b.Result.Remaining {
		return a.Result.Remaining < b.Result.Remaining
	}
	return a.Result.NextAfter > b.Result.NextAfter
}

// moreAfter returns the seconds after which a leaves more; of a refusal, when the client may come back, which is
// the same unless the request cost more than a unit.
func moreAfter(d *ruleset.Decision, a *ruleset.Applied) uint64 {
	if !d.Allowed && a.Result.RetryAfter > 0 {
		return seconds(a.Result.RetryAfter)
	}
	return seconds(a.Result.NextAfter)
}
