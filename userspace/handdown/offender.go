package handdown

import (
	"math"
	"time"
)

// offender is what is remembered of a source.
type offender struct {
	source source
	window window
	last   time.Duration // the latest offence
	origin Origin        // and who saw that

	strikes int           // rules that it has had
	until   time.Duration // when the last of them ends
	dry     bool          // which was made in dry run
	queued  bool          // Run has still to decide about it

	doubtAt   time.Duration // when an offence makes it doubtful that the rule is there
	doubtWait time.Duration // before it was looked at last

	spared      Reason        // why it was not handed down, if not empty
	sparedUntil time.Duration // when it is looked at again
	sparedUnder uint64        // the number of the settings
}

// verdict is what an offence leads to.
type verdict int

const (
	counted verdict = iota // there are not enough of them
	crossed                // the source is to be handed down
	waits                  // as before, and Run has not decided yet
	held                   // by a rule: the offence was under way when that was made
	passed                 // over, since the source was spared a short time ago
)

// offend counts n offences at now.
func (o *offender) offend(n int, origin Origin, now time.Duration, s *settings) verdict {
	o.last, o.origin = now, origin
	switch {
	case o.queued:
		return waits
	case o.holds(now, s):
		return held
	case o.isSpared(now, s):
		return passed
	}
	o.forgive(now, s)
	if o.window.add(n, now, s.Within, s.After) < s.After {
		return counted
	}
	return crossed
}

// holds reports whether a rule for it is in force. One of a dry run is none once that has ended.
func (o *offender) holds(now time.Duration, s *settings) bool {
	return now < o.until && (!o.dry || s.DryRun)
}

func (o *offender) isSpared(now time.Duration, s *settings) bool {
	return o.spared != "" && now < o.sparedUntil && o.sparedUnder == s.number
}

// forgive forgets strikes that are long ago, or were none.
func (o *offender) forgive(now time.Duration, s *settings) {
	if now >= o.until+s.Max || o.dry && !s.DryRun {
		o.strikes, o.until, o.dry = 0, 0, false
	}
}

// strike notes at now a rule that ends at until.
func (o *offender) strike(now, until time.Duration, dry bool) {
	o.strikes++
	o.doubtAt, o.doubtWait = now+underWay, 0
	o.until, o.dry = until, dry
	o.queued, o.spared = false, ""
	o.window.clear()
}

// spare notes that no rule was made, and that it is not looked at again for so long as one would have held.
func (o *offender) spare(why Reason, now time.Duration, s *settings) {
	o.queued = false
	o.spared, o.sparedUntil, o.sparedUnder = why, now+s.For, s.number
	o.window.clear()
}

// debt returns how long there is something to remember of it.
func (o *offender) debt(now time.Duration, s *settings) time.Duration {
	if o.queued {
		return math.MaxInt64
	}
	end := max(o.last+s.Within, o.sparedUntil)
	if o.strikes > 0 {
		end = max(end, o.until+s.Max)
	}
	return end - now
}
