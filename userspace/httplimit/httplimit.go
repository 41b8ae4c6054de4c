package httplimit

import (
	"net/http"
	"sync"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
)

// Options are how limited requests are answered. The zero value is ready.
type Options struct {
	// Headers is the family of header fields that tell clients their limits;
	// draft10 if empty.
	Headers config.HeaderStyle
	// OnlyRejected leaves those fields out of responses to requests that pass.
	OnlyRejected bool
	// Reject, if set, answers a refused request. Cache-Control, Retry-After and the
	// fields of Headers are set already; the status to send is d.Status. d must not
	// be kept.
	Reject func(w http.ResponseWriter, r *http.Request, d *ruleset.Decision)
	// Clock returns the time since an instant that stays the same for all
	// middleware over the same limits. By default it is an hour before the process began.
	// It should not be one that people set: where it goes back, time stands still
	// for limits, but what it goes forth after that counts again. With the algorithm
	// nginx it should be above a minute, as the time since boot of a machine mostly is.
	Clock func() time.Duration
}

// New returns middleware that limits requests as rules decides: a ruleset.Set, or a ruleset.Live. The path that rules
// see is that of the request that reaches the middleware: outside of a
// http.StripPrefix it is the one that the client sent. Where something has told http.Request.RemoteAddr,
// as the PROXY protocol does, clientip.WithConn in the connection's context says who the connection is from.
func New(rules ruleset.Decider, o Options) func(http.Handler) http.Handler {
	return middleware(&ruleDecider{rules: rules}, o)
}

// decider decides about requests. The second result is freed once: when the response has ended if
// the decision holds something, otherwise when it is no longer read.
type decider interface {
	decide(r *http.Request, now time.Duration) (*ruleset.Decision, freer)
}

// freer is what a request is charged only while it is under way.
type freer interface{ Free(now time.Duration) }

// limited is the middleware around one handler.
type limited struct {
	decider
	next http.Handler
	Options
	answers *sync.Pool // of *Response, since floods are of refusals
}

func middleware(d decider, o Options) func(http.Handler) http.Handler {
	if o.Clock == nil {
		o.Clock = sinceStart
	}
	answers := &sync.Pool{New: func() any { return new(Response) }}
	return func(next http.Handler) http.Handler {
		return &limited{decider: d, next: next, Options: o, answers: answers}
	}
}

// ServeHTTP implements http.Handler.
func (l *limited) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := l.Clock()
	d, held := l.decide(r, now)
	switch {
	case holds(d):
		l.serveHeld(w, r, d, held)
	case d.Allowed:
		delay := d.Delay
		l.tell(w, d)
		held.Free(now)
		l.pass(w, r, delay)
	default:
		defer held.Free(now)
		l.refuse(w, r, d)
	}
}

// tell tells the client of a request that passes about d.
func (l *limited) tell(w http.ResponseWriter, d *ruleset.Decision) {
	answer := l.answers.Get().(*Response)
	defer l.answers.Put(answer)
	answer.Tell(d, &l.Options)
	answer.SetIn(w.Header())
}

// serveHeld serves a request that holds something, or would if it were not refused.
func (l *limited) serveHeld(w http.ResponseWriter, r *http.Request, d *ruleset.Decision, held freer) {
	h := newHold(func() { held.Free(l.Clock()) })
	defer h.handlerEnded()
	if !d.Allowed {
		l.refuse(w, r, d)
		return
	}
	l.tell(w, d)
	l.pass(h.follow(w), r, d.Delay)
}

// pass calls the next handler after delay, if the request lives that long.
func (l *limited) pass(w http.ResponseWriter, r *http.Request, delay time.Duration) {
	if delay > 0 && !wait(r, delay) {
		// If it was not the client that left, but somebody set a deadline, an empty 200
		// would be a lie.
		http.Error(w, "the request was given up while it waited for its turn", http.StatusServiceUnavailable)
		return
	}
	l.next.ServeHTTP(w, r)
}

// start never changes. It is one for the process, so that middleware that shares limits shares a clock. It is an
// hour before the process began: to the algorithm nginx a new key was last used when the clock was 0, which
// shows in the first 62.5 s of a machine, and would here after each start of a server.
var start = time.Now().Add(-time.Hour)

func sinceStart() time.Duration { return time.Since(start) }
