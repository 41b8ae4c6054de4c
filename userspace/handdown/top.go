package handdown

import (
	"cmp"
	"net/netip"
	"slices"
	"time"
)

// Offender is a source with what is remembered of it.
type Offender struct {
	Source   netip.Prefix
	Offences int // that count now
	Strikes  int // rules that it has had
	// Origin is who saw the latest offence.
	Origin Origin
	// Left is for how long its rule holds, 0 without one.
	Left time.Duration
	// Spared is why it was not handed down a short time ago.
	Spared Reason

	dry bool // its rule is in nobody's kernel
}

// Top returns the sources that have a rule, and those that are nearest to one: those with the longest first, then
// those with most offences. There are at most n. Of a rule that somebody has removed it says so: the kernel is asked.
func (h *HandDown) Top(n int) []Offender {
	if n <= 0 {
		return nil
	}
	s := h.settings.Load()
	var all []Offender
	h.offenders.each(h.now(), func(o *offender, now time.Duration) {
		if d := o.describe(now, s); d.Offences > 0 || d.Left > 0 || d.Strikes > 0 || d.Spared != "" {
			all = append(all, d)
		}
	})
	slices.SortFunc(all, func(a, b Offender) int {
		return cmp.Or(cmp.Compare(b.Left, a.Left), cmp.Compare(b.Offences, a.Offences),
			cmp.Compare(b.Strikes, a.Strikes), a.Source.Addr().Compare(b.Source.Addr()))
	})
	all = all[:min(n, len(all))]
	for i := range all {
		if o := &all[i]; o.Left > 0 && !o.dry && h.isGone(o.Source, s) {
			o.Left = 0
		}
	}
	return all
}

func (o *offender) describe(now time.Duration, s *settings) Offender {
	o.forgive(now, s)
	d := Offender{
		Source: o.source.prefix(), Offences: o.window.count(now, s.Within), Strikes: o.strikes, Origin: o.origin,
	}
	if o.holds(now, s) {
		d.Left, d.dry = o.until-now, o.dry
	}
	if o.isSpared(now, s) {
		d.Spared = o.spared
	}
	return d
}
