package ruleset

import (
	"net/netip"
	"time"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
)

// Decision says what becomes of a request. It is read by one goroutine at a time;
// Release may be called by any.
type Decision struct {
	// Allowed reports whether the request may pass, after Delay.
	Allowed bool
	// Status is what a refused request is answered with, 400 to 599. 0 if allowed.
	Status int
	// Delay is how long the request waits before it passes: the longest that a
	// limit asks for. 0 if refused.
	Delay time.Duration
	// RetryAfter is when all limits that refused would let the request pass:
	// limit.Never if no waiting helps, 0 if it is allowed.
	RetryAfter time.Duration
	// Rule and Zone name the first limit that refused, or else the one that
	// delays longest. If DryRun, the one that would have. Otherwise empty.
	Rule, Zone string
	// Excess is limit.Result.Excess of that limit.
	Excess uint64
	// DryRun reports that the request passes at once, and that a rule with dry_run
	// would have refused or delayed it.
	DryRun bool
	// Store tells how it was decided about limits that machines share; of several ways, that which is last in their order.
	Store Way
	// Unavailable reports that the request was refused only because the store did not answer: it may be within all limits.
	Unavailable bool
	// Client is who the request is charged to, its prefix not yet cut, and ClientFrom
	// why it is this address. Invalid if it is not known.
	Client     netip.Addr
	ClientFrom clientip.Reason
	// ClientHop is which value of the field that told Client it is, 1 for the rightmost; 0 for the peer.
	ClientHop int
	// Limits are the limits that were asked, in order.
	Limits []Applied
	// Skipped are the limits of the rules that were not asked, in order.
	Skipped []Skipped

	life    *life
	exempt  bool
	view    view
	texts   []string // of the parts of a key
	buf     []byte   // what keys and texts are views of; only appended to
	charges []keyed.Charge[keyed.Key]
	spans   []span
	leases  []lease
	sharing *sharing // nil until a request has limits that machines share
}

// Applied is a limit that was asked about a request. It is valid until the
// decision is freed.
type Applied struct {
	// Rule and Zone are the names of the rule and of the zone that it uses.
	Rule, Zone string
	// DryRun reports that the rule only counts.
	DryRun bool
	// Override is which override of the zone the key has, 1 for the first of the file; 0 for none.
	Override int
	// Quota is the rate as it was written, "10r/s"; empty for requests at a time.
	Quota string
	// Window is the time in which an idle key is given Result.Limit requests; 0
	// for requests at a time.
	Window time.Duration
	// Result is what the limit said. If it is allowed, but the decision is not,
	// nothing was charged.
	Result limit.Result
	// Store is how it was decided about a limit that machines share.
	Store Way
	// Unknown reports that nobody was asked how much is left, so that of Result only Allowed, Limit and RetryAfter mean something.
	Unknown bool

	key     string // a view of the decision's buffer
	use     *use
	limiter keyed.Limiter[keyed.Key]
}

// Rules returns the names of the rules that the request matched, in the order of the file, those without limits too.
func (d *Decision) Rules() []string {
	names := make([]string, len(d.spans))
	for i, s := range d.spans {
		names[i] = s.rule.name
	}
	return names
}

// AppendKey appends the key that was charged, in the form of package clientip.
func (a *Applied) AppendKey(dst []byte) []byte { return append(dst, a.key...) }

// Key returns the key that was charged as people read it: "192.0.2.1, /login".
func (a *Applied) Key() string { return clientip.Describe(a.key) }

// Skipped is a limit that was not asked.
type Skipped struct {
	Rule, Zone string
	Why        Why

	rule *rule
	zone *zone
}

// Why says why a limit was not asked.
type Why string

// The reasons why a limit is not asked.
const (
	Absent  Why = "absent"  // the request lacks a part of the key
	Unknown Why = "unknown" // the client's address is not known
	Exempt  Why = "exempt"  // the zone's allow list has the key
)

// keptBuffer is the largest buffer that is kept for the next request.
const keptBuffer = 16 << 10

// Release gives back what the request held while it was under way: its places
// in zones of requests at a time. The first call does; the others, of any
// goroutine, do nothing. d can still be read.
func (d *Decision) Release(now time.Duration) {
	for i := range d.leases {
		l := &d.leases[i]
		l.limiter.Refund(l.key, l.result, now) // only the first call finds the lease
	}
	if d.sharing.asks() {
		d.sharing.release()
	}
}

// Free is Release, and gives the memory of d to other requests: nobody may use d after
// it, nor release it. It need not be called, the garbage collector
// does as well: it is for those who know that nobody else has d.
func (d *Decision) Free(now time.Duration) {
	d.Release(now)
	if life := d.life; life != nil {
		d.reset()
		life.pool.Put(d)
	}
}

// reset makes d the zero value, but for memory.
func (d *Decision) reset() {
	switch {
	case cap(d.buf) > keptBuffer:
		d.buf = nil
	case d.sharing.failed(): // who has not answered in time may still read it
		d.buf = make([]byte, 0, cap(d.buf))
	}
	d.sharing.reset()
	*d = Decision{
		Limits:  emptied(d.Limits),
		Skipped: emptied(d.Skipped),
		texts:   d.texts[:0],
		buf:     d.buf[:0],
		charges: emptied(d.charges),
		spans:   emptied(d.spans),
		leases:  emptied(d.leases),
		sharing: d.sharing,
	}
}

// forget drops what d has of the request, whose memory a decision that is held for hours would keep.
func (d *Decision) forget() {
	d.view = view{}
	d.texts = emptied(d.texts[:cap(d.texts)]) // a key that was longer than the last one is behind its end
}

// emptied returns the memory of s, with nothing in it that keeps other memory.
func emptied[E any](s []E) []E {
	clear(s)
	return s[:0]
}
