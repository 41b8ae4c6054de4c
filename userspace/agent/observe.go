package agent

import (
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/userspace/gateway/envoy"
	"github.com/headgate/headgate/userspace/ruleset"
	"github.com/headgate/headgate/userspace/tracing"
	"github.com/headgate/headgate/userspace/verify"
)

// decider is what all fronts ask: it decides by the rules in force, shows what was refused to whoever watches, and what
// was allowed to who verifies clients.
type decider struct {
	live    *ruleset.Live
	next    atomic.Pointer[ruleset.Decider] // live, or what records its decisions
	refused atomic.Pointer[func(*ruleset.Request, *ruleset.Decision, time.Duration)]
	allowed atomic.Pointer[verify.Verifier] // nil where nobody is verified
}

var _ envoy.Rules = (*decider)(nil)

// Decide implements ruleset.Decider.
func (d *decider) Decide(r *ruleset.Request, now time.Duration) *ruleset.Decision {
	decision := (*d.next.Load()).Decide(r, now)
	if decision.Allowed {
		if v := d.allowed.Load(); v != nil {
			v.Observe(r, decision, now)
		}
	} else if f := d.refused.Load(); f != nil {
		(*f)(r, decision, now)
	}
	return decision
}

// Explain implements envoy.Rules.
func (d *decider) Explain(r *ruleset.Request, now time.Duration) *ruleset.Decision {
	return d.live.Explain(r, now)
}

// record makes decisions from now on be recorded by p, which may be nil.
func (d *decider) record(p *tracing.Provider) {
	next := p.Decider(d.live)
	d.next.Store(&next)
}

// watch makes f see all that is refused from now on, and when.
func (d *decider) watch(f func(*ruleset.Request, *ruleset.Decision, time.Duration)) {
	d.refused.Store(&f)
}
