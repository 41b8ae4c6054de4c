package handdown

import (
	"net/netip"
	"time"
)

const (
	// underWay is how long after a rule was made offences that were under way may come.
	underWay = 10 * time.Millisecond
	// leastDoubt and mostDoubt are the time between two looks at whether the rule of a source is still there. It doubles
	// while it is: some offences come late, and with action limit many come for as long as the rule holds.
	leastDoubt = time.Second
	mostDoubt  = 8 * time.Second
)

// doubts reports whether an offence at now makes it doubtful that the rule of the source is in force, as somebody may have
// removed it. It does so seldom.
func (o *offender) doubts(now time.Duration) bool {
	if o.dry || now < o.doubtAt {
		return false
	}
	o.doubtWait = min(max(2*o.doubtWait, leastDoubt), mostDoubt)
	o.doubtAt = now + o.doubtWait
	return true
}

// isGone asks the kernel whether the rule of a source is no longer in force, and if so makes its offences count again.
func (h *HandDown) isGone(prefix netip.Prefix, s *settings) bool {
	enforced, err := h.o.Kernel.Enforced(prefix)
	if enforced || err != nil { // compare tells of errors
		return false
	}
	h.force.remove(prefix)
	h.lift(prefix, s)
	h.o.Log.Info("the rule of an offender is gone before its time; its offences count again", "source", prefix.String())
	return true
}

// lift notes that a source has no rule any more.
func (h *HandDown) lift(prefix netip.Prefix, s *settings) {
	h.offenders.with(sourceOf(prefix), h.now(), s, func(o *offender, now time.Duration) { o.until = min(o.until, now) })
}

// reported asks the kernel about a source that is taken to have a rule: who reports it is to be told the truth.
func (h *HandDown) reported(prefix netip.Prefix, s *settings) {
	held := false
	h.offenders.with(sourceOf(prefix), h.now(), s, func(o *offender, now time.Duration) { held = !o.dry && o.holds(now, s) })
	if held {
		h.isGone(prefix, s)
	}
}
