package ruleset

import (
	"time"

	"github.com/headgate/headgate/userspace/limit"
)

// fallBack decides about a request without the store, by what each rule says of that: all or none too.
func (d *Decision) fallBack(now time.Duration) {
	closed, s := d.fail(), d.sharing
	s.here.reset()
	for i := range d.Limits {
		w, group := d.Limits[i].Store, d.charges[i].DryRun
		if (w == NotShared || w == Local) && (group == 0 || d.passes(group)) {
			s.here.add(d, i)
		}
	}
	if closed {
		d.Unavailable = s.here.ask(d, now) // the others have nothing against it
		d.Allowed = false
		return
	}
	d.Allowed = s.here.charge(d, now)
}

// fail makes limits in the store what their rules say of when it does not answer, but for limits of rules with dry_run that another
// limit has refused. It reports whether an enforced one refuses for that. Those that decide here are yet to be asked.
func (d *Decision) fail() (closed bool) {
	d.unask()
	for i := range d.sharing.asked {
		k := &d.sharing.asked[i]
		a, group := &d.Limits[k.limit], d.charges[k.limit].DryRun
		if group != 0 && !d.passes(group) && a.use.rule.onFailure != Closed {
			continue
		}
		a.Store = a.use.rule.onFailure
		a.Unknown = a.Store != Local
		if a.Store == Closed {
			a.Result = limit.Result{Zone: a.Zone, Limit: atOnce(k.over), RetryAfter: retryUnavailable}
			closed = closed || group == 0
		}
	}
	return closed
}
