package handdown

import (
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
)

// Options are what a HandDown needs. Config and Kernel must be set.
type Options struct {
	Config config.HandDown // as package config reads it
	Kernel Kernel
	// TrustedProxies are all whose word about others is believed: of http.client_ip, of listeners with the PROXY
	// protocol, and gateways.
	TrustedProxies []netip.Prefix
	// Local reports whether an address is one of this machine; it is called for refused requests. nil for none.
	// Loopback addresses always are.
	Local func(netip.Addr) bool
	// Near reports whether a network that this machine is in overlaps a prefix; it is called for offences. nil for none.
	Near func(netip.Prefix) bool
	// Log is told of each hand-down. nil for slog.Default.
	Log *slog.Logger
	// Publish gets an event for each line of the log. It must not wait. nil for nobody.
	Publish func(event.Event)
	// Share gets the rules that were made, for other machines: not those of a dry run, nor what had one already. It must not
	// wait, nor change them. nil for nobody.
	Share func([]Rule)
	// Clock is time.Now if nil. Its monotonic part is what counts.
	Clock func() time.Time
	// MaxOffenders is how many sources are remembered, 0 for 100,000; fewer if After is so large that their
	// offences would take too much memory.
	MaxOffenders int
	// MaxWaiting is how many sources may wait for the kernel, 0 for 4,096.
	MaxWaiting int
}

// HandDown counts offences and hands offenders down. All methods may be called at the same time, but
// for Run, which is called once.
type HandDown struct {
	o         Options
	began     time.Time
	settings  atomic.Pointer[settings]
	offenders *offenders
	queue     *queue
	force     force
	counts    counts
	said      said
	notices   chan event.Event
	waiters   waiters

	setting sync.Mutex // held while settings are made
}

// New returns a HandDown that counts. Nothing is handed down until Run runs.
func New(o Options) *HandDown {
	o.fill()
	h := &HandDown{
		o:         o,
		offenders: newOffenders(o.MaxOffenders),
		queue:     newQueue(o.MaxWaiting),
		notices:   make(chan event.Event, 64),
	}
	h.began = h.date()
	h.SetConfig(o.Config, o.TrustedProxies)
	return h
}

// fill sets what is not set.
func (o *Options) fill() {
	if o.Local == nil {
		o.Local = func(netip.Addr) bool { return false }
	}
	if o.Near == nil {
		o.Near = func(netip.Prefix) bool { return false }
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Publish == nil {
		o.Publish = func(event.Event) {}
	}
	if o.Share == nil {
		o.Share = func([]Rule) {}
	}
	if o.MaxOffenders <= 0 {
		o.MaxOffenders = 100_000
	}
	if o.MaxWaiting <= 0 {
		o.MaxWaiting = 4096
	}
}

// SetConfig makes what follows go by c and the trusted proxies. What was counted stays, and so do rules in force; those
// of a dry run never were.
func (h *HandDown) SetConfig(c config.HandDown, trustedProxies []netip.Prefix) {
	h.setting.Lock()
	defer h.setting.Unlock()
	number := uint64(1)
	if old := h.settings.Load(); old != nil {
		number = old.number + 1
	}
	h.settings.Store(newSettings(c, trustedProxies, number, h.o.MaxOffenders))
}

// Offend counts an offence. It does not wait.
func (h *HandDown) Offend(o Offence) { h.offend(o, 1) }

// offend counts n offences, and returns what that leads to, and how many count.
func (h *HandDown) offend(o Offence, n int) (v verdict, count int) {
	s := h.settings.Load()
	prefix := h.rulePrefix(o.Addr, s)
	if !prefix.IsValid() {
		stripe := h.counts.of(source{})
		stripe.offence(o.Origin).Add(uint64(n))
		stripe.spare(Unknown).Add(uint64(n))
		return passed, 0
	}
	of := sourceOf(prefix)
	stripe := h.counts.of(of)
	stripe.offence(o.Origin).Add(uint64(n))
	h.offenders.with(of, h.now(), s, func(f *offender, now time.Duration) {
		v = f.offend(n, o.Origin, now, s)
		count = f.window.total
		switch v {
		case crossed:
			f.queued = h.queue.push(candidate{prefix: prefix, offence: o, count: count, since: now})
			if !f.queued {
				stripe.lost.Add(uint64(n))
			}
		case held:
			stripe.late.Add(uint64(n))
			if f.doubts(now) {
				h.queue.push(candidate{prefix: prefix, doubt: true}) // without room it is asked another time
			}
		case waits:
			stripe.late.Add(uint64(n))
		case passed:
			stripe.spare(f.spared).Add(uint64(n))
		}
	})
	return v, count
}

// now returns the time since h began.
func (h *HandDown) now() time.Duration {
	if h.o.Clock == nil {
		return time.Since(h.began) // half the cost of time.Now
	}
	return h.o.Clock().Sub(h.began)
}

// date returns the time of an event.
func (h *HandDown) date() time.Time {
	if h.o.Clock == nil {
		return time.Now()
	}
	return h.o.Clock()
}
