package ruleset

import (
	"math"
	"math/bits"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
)

// span is the limits of a rule that apply to a request: those from from to to.
type span struct {
	rule     *rule
	from, to int
}

// lease is a place that a request holds while it is under way.
type lease struct {
	limiter keyed.Limiter[keyed.Key]
	key     keyed.Key
	result  limit.Result
}

// applyAll notes the limits of the rules that match a reading of the path, up to the first that decides about it.
func (d *Decision) applyAll(rules []*rule) {
	var both [2]string
	open := d.view.readings(both[:0])
	for _, r := range rules {
		applies, rest := false, open[:0]
		for _, path := range open {
			matches := r.match.matches(&d.view, path)
			applies = applies || matches
			if r.more || !matches {
				rest = append(rest, path)
			}
		}
		if applies {
			d.apply(r)
		}
		if open = rest; len(open) == 0 {
			return
		}
	}
}

// apply notes the limits of a rule that matches.
func (d *Decision) apply(r *rule) {
	from := len(d.charges)
	for _, u := range r.uses {
		if why := d.add(r, u); why != "" {
			d.Skipped = append(d.Skipped, Skipped{Rule: r.name, Zone: u.zone.name, Why: why, rule: r, zone: u.zone})
		}
	}
	d.spans = append(d.spans, span{r, from, len(d.charges)})
}

// add notes a limit of rule r, or returns why it does not apply.
func (d *Decision) add(r *rule, u *use) (why Why) {
	z := u.zone
	if d.texts, d.buf, why = read(z.parts, &d.view, d.texts[:0], d.buf); why != "" {
		return why
	}
	var n, quota int
	if n, d.buf = z.exempt.find(d.texts, d.Client, d.buf); n >= 0 {
		return Exempt
	}
	if n, d.buf = z.overrides.find(d.texts, d.Client, d.buf); n >= 0 {
		quota = z.quotaOf[n]
	}
	from := len(d.buf)
	client := z.client(d.Client)
	d.buf = appendKey(d.buf, z.parts, d.texts, client)
	key := text(d.buf[from:])
	b := &u.bounds[quota]
	d.charges = append(d.charges, keyed.Charge[keyed.Key]{Limiter: b.limiter, Key: keyed.KeyOf(key), N: d.cost(u), DryRun: r.group})
	d.Limits = append(d.Limits, Applied{
		Rule: r.name, Zone: z.name, DryRun: r.group != 0, Override: n + 1, Quota: b.quota, Window: b.window,
		key: key, use: u, limiter: b.limiter,
	})
	if z.common != nil {
		d.addShared(z, key, client, b.limit)
	}
	return ""
}

// cost returns how many units of u the request takes.
func (d *Decision) cost(u *use) uint64 {
	if d.view.Units <= 1 || u.zone.algorithm == config.Concurrent {
		return u.cost
	}
	over, units := bits.Mul64(u.cost, d.view.Units)
	if over > 0 {
		return math.MaxUint64
	}
	return units
}

// ask charges the request to its limits, or to none.
func (d *Decision) ask(now time.Duration) {
	d.Allowed = keyed.All(d.charges, now)
	for i := range d.charges {
		d.Limits[i].Result = d.charges[i].Result
		if a := &d.Limits[i]; a.use.zone.algorithm == config.Concurrent {
			d.leases = append(d.leases, lease{a.limiter, d.charges[i].Key, a.Result})
		}
	}
}

// peek is ask without charging.
func (d *Decision) peek(now time.Duration) {
	if d.sharing.asks() {
		d.peekShared()
	}
	d.Allowed, d.Unavailable = true, true
	for i := range d.Limits {
		a := &d.Limits[i]
		if a.Store == NotShared || a.Store == Local {
			a.Result = a.limiter.Peek(d.charges[i].Key, d.charges[i].N, now)
		}
		if a.DryRun || a.Result.Allowed {
			continue
		}
		d.Allowed = false
		d.Unavailable = d.Unavailable && a.Store == Closed
	}
	d.Unavailable = d.Unavailable && !d.Allowed
}

// conclude says what the results of the limits come to.
func (d *Decision) conclude() {
	if !d.Allowed {
		d.refuse()
		return
	}
	if d.Delay = d.name(false); d.Delay > 0 {
		return
	}
	d.DryRun = d.name(true) > 0
}

// refuse names the first enforced limit that refuses, and when all of them would not.
func (d *Decision) refuse() {
	for _, s := range d.spans {
		for i := s.from; i < s.to; i++ {
			a := &d.Limits[i]
			if a.DryRun || a.Result.Allowed {
				continue
			}
			if d.Rule == "" && (d.Unavailable || a.Store != Closed) {
				d.Rule, d.Zone, d.Excess, d.Status = a.Rule, a.Zone, a.Result.Excess, s.rule.statusFor(a.Store)
			}
			d.RetryAfter = later(d.RetryAfter, a.Result.RetryAfter)
		}
	}
}

// statusFor returns the status of a refusal that was decided in a way.
func (r *rule) statusFor(w Way) int {
	if w == Closed {
		return r.failStatus
	}
	return r.status
}

// later returns the longer of two times to wait.
func later(a, b time.Duration) time.Duration {
	if a == limit.Never || b == limit.Never {
		return limit.Never
	}
	return max(a, b)
}

// name names the limit that delays longest, of those of rules with dry_run or of the
// others. It returns the delay; forever for the first that refuses.
func (d *Decision) name(dryRun bool) (longest time.Duration) {
	for i := range d.Limits {
		a := &d.Limits[i]
		if a.DryRun != dryRun {
			continue
		}
		delay := a.Result.Delay
		if !a.Result.Allowed {
			delay = forever
		}
		if delay > longest {
			longest = delay
			d.Rule, d.Zone, d.Excess = a.Rule, a.Zone, a.Result.Excess
		}
	}
	return longest
}

const forever time.Duration = 1<<63 - 1
