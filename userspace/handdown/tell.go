package handdown

import (
	"fmt"
	"time"

	"github.com/headgate/headgate/userspace/event"
)

// fullEvery is how often it is said that there are as many rules as are allowed.
const fullEvery = time.Minute

// reason returns in words why a source is handed down.
func (c candidate) reason(s *settings) string {
	reason := fmt.Sprintf("%d offences within %v", c.count, s.Within)
	if c.offence.Reason != "" {
		reason += ": " + c.offence.Reason
	}
	if s.DryRun {
		reason += " (dry run)"
	}
	return reason
}

// tell publishes what became of a candidate.
func (r *runner) tell(kind event.Kind, c candidate, reason string, period time.Duration) {
	r.o.Publish(event.Event{
		Time: r.date(), Kind: kind, Source: c.prefix, Origin: string(c.offence.Origin),
		Rule: c.offence.Rule, Zone: c.offence.Zone, Reason: reason, For: period.Seconds(),
	})
}

// spare notes and tells that a candidate gets no rule. detail says more than why, if there is more.
func (r *runner) spare(c candidate, why Reason, detail string, s *settings) {
	of := sourceOf(c.prefix)
	r.counts.of(of).spare(why).Add(uint64(c.count))
	r.offenders.with(of, r.now(), s, func(o *offender, now time.Duration) { o.spare(why, now, s) })
	reason := string(why)
	if detail != "" {
		reason += ": " + detail
	}
	defer r.answer(c.prefix, Outcome{Result: Spared, Reason: reason})
	if why == Full {
		if r.now() < r.full {
			return
		}
		r.full = r.now() + fullEvery
		r.o.Log.Warn("as many sources are handed down as max_rules allows; more are not", "max_rules", s.MaxRules)
	}
	r.tell(event.Spared, c, reason, 0)
	r.o.Log.Info("a source was not handed down", "source", c.prefix.String(), "origin", string(c.offence.Origin),
		"reason", reason, "rule", c.offence.Rule, "zone", c.offence.Zone, "dry_run", s.DryRun)
}

// tellOfProxy tells that clients behind a proxy are not handed down.
func (r *runner) tellOfProxy(e event.Event) {
	r.o.Publish(e)
	r.o.Log.Warn("clients behind a proxy are not handed down: their packets are the proxy's, or nobody here knows whose; "+
		"run headgate where their connections end", "proxy", e.Name, "reason", e.Reason)
}
