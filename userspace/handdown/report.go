package handdown

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// Result is what a report leads to.
type Result string

// The results.
const (
	Counted    Result = "counted"     // there are not enough offences yet
	HandedDown Result = "handed_down" // by this report or an earlier one
	Spared     Result = "spared"
)

// Outcome is what became of a report.
type Outcome struct {
	Prefix   netip.Prefix // what the rule is for, or would be
	Result   Result
	Reason   string // why it was spared: a Reason, and possibly a colon and more
	Offences int    // that count now, 0 once the source was handed down or spared
	After    int    // as many in Within have it handed down
	Within   time.Duration
	For      time.Duration // how long the rule holds from now on
	DryRun   bool          // all that is not done
}

// ErrWaits is returned for a report whose source the kernel has not taken in time. It does as soon as it can.
var ErrWaits = errors.New("the kernel takes no rules at the moment (the log says why); the report is kept, and the source handed down when it does")

const (
	// patience is how long a report waits for the kernel.
	patience = 2 * time.Second
	// mostReason is how many bytes of a report's reason are kept.
	mostReason = 256
)

// Report counts offences of a source that somebody else saw, and returns what became of that. prefix must
// not be wider than what a rule is for; a narrower one is widened. Errors other than
// ErrWaits, and those of ctx, are the caller's fault.
func (h *HandDown) Report(ctx context.Context, prefix netip.Prefix, origin Origin, reason string, count int) (Outcome, error) {
	s := h.settings.Load()
	o := Offence{Addr: prefix.Addr(), Origin: origin, Reason: shorten(reason)}
	rule := h.rulePrefix(o.Addr, s)
	if err := checkReport(prefix, rule, o, count); err != nil {
		return Outcome{}, err
	}
	full := Outcome{Prefix: rule, After: s.After, Within: s.Within, DryRun: s.DryRun}
	if why := h.exempt(o.Addr, full.Prefix, s); why != "" {
		stripe := h.counts.of(sourceOf(full.Prefix))
		stripe.offence(origin).Add(uint64(count))
		stripe.spare(why).Add(uint64(count))
		full.Result, full.Reason = Spared, string(why)
		return full, nil
	}
	h.reported(rule, s)
	w := h.waiters.add(full.Prefix)
	defer h.waiters.remove(full.Prefix, w)
	v, offences := h.offend(o, count)
	return h.await(ctx, v, offences, full, w)
}

// await returns what comes of a verdict.
func (h *HandDown) await(ctx context.Context, v verdict, offences int, full Outcome, w chan Outcome) (Outcome, error) {
	s, now := h.settings.Load(), h.now()
	switch v {
	case counted:
		full.Result, full.Offences = Counted, offences
		return full, nil
	case held, passed:
		h.offenders.with(sourceOf(full.Prefix), now, s, func(o *offender, now time.Duration) {
			full.Result, full.For = HandedDown, max(0, o.until-now)
			if v == passed {
				full.Result, full.For, full.Reason = Spared, 0, string(o.spared)
			}
		})
		return full, nil
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return full, ctx.Err()
	case <-timer.C:
		return full, ErrWaits
	case got := <-w:
		full.Result, full.Reason, full.For = got.Result, got.Reason, got.For
		return full, nil
	}
}

// checkReport returns an error that says what is wrong with a report of a prefix, where rules are for rule.
func checkReport(prefix, rule netip.Prefix, o Offence, count int) error {
	switch {
	case !prefix.IsValid():
		return errors.New("no prefix; use an address, or a prefix as 2001:db8::/64")
	case prefix.Addr().Is4In6():
		return fmt.Errorf("prefix %s is an IPv4-mapped one; use the IPv4 address", prefix)
	case prefix.Bits() < rule.Bits():
		return fmt.Errorf("prefix %s is wider than what offenders are handed down by; report addresses, or prefixes of /%d or longer", prefix, rule.Bits())
	case !slices.Contains(Origins(), o.Origin):
		return fmt.Errorf("origin %q is not known; use %s, %s or %s", o.Origin, HTTP, Nginx, Report)
	case count < 1:
		return fmt.Errorf("%d offences; use 1 or more", count)
	}
	return nil
}

// shorten returns text without what is too much.
func shorten(text string) string {
	if len(text) <= mostReason {
		return text
	}
	return strings.ToValidUTF8(text[:mostReason], "") + "..."
}

// waiters wait for what becomes of sources. The zero value is ready.
type waiters struct {
	mu sync.Mutex
	of map[netip.Prefix][]chan Outcome
}

func (w *waiters) add(prefix netip.Prefix) chan Outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = make(map[netip.Prefix][]chan Outcome)
	}
	c := make(chan Outcome, 1)
	w.of[prefix] = append(w.of[prefix], c)
	return c
}

func (w *waiters) remove(prefix netip.Prefix, c chan Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := slices.DeleteFunc(w.of[prefix], func(other chan Outcome) bool { return other == c })
	if len(rest) == 0 {
		delete(w.of, prefix)
		return
	}
	w.of[prefix] = rest
}

// answer tells all who wait for prefix.
func (h *HandDown) answer(prefix netip.Prefix, o Outcome) {
	h.waiters.mu.Lock()
	defer h.waiters.mu.Unlock()
	for _, c := range h.waiters.of[prefix] {
		select {
		case c <- o:
		default: // it has one already
		}
	}
}
