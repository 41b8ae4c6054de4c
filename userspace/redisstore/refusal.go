package redisstore

import (
	"time"

	"github.com/headgate/headgate/userspace/limit"
)

// believed is how long a refusal is repeated without asking again, so that what another machine forgets is seen.
const believed = time.Minute

// refusal is what the store said of a key when a limit refused it. Nobody has to ask again before as much has drained as the request
// lacked: whatever others do meanwhile makes it later.
type refusal struct {
	terms terms
	state state
	at    time.Duration // by this machine's clock, before the store was asked: it is no earlier than that
	end   time.Duration
}

func (r refusal) until() time.Duration { return r.end }

// newRefusal returns what is to be remembered of a limit that refuses, and false if that is nothing: when a place will be
// free is not known.
func newRefusal(t terms, s state, r limit.Result, at time.Duration) (refusal, bool) {
	wait := believed
	if r.RetryAfter != limit.Never {
		wait = min(wait, r.RetryAfter)
	}
	return refusal{terms: t, state: s, at: at, end: at + wait}, t.kind != concurrent
}

// repeat returns what the limit says of n units, and false if it may say something else by now.
func (r *refusal) repeat(t terms, n uint64, now time.Duration) (limit.Result, bool) {
	if !r.terms.alike(t) || now < r.at || now >= r.at+believed {
		return limit.Result{}, false
	}
	_, found := t.take(t.after(r.state, uint64((now-r.at)/time.Microsecond)), n)
	return found, !found.Allowed
}
