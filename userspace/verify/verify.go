// Package verify tells the kernel's limiter which clients proved to be who they say: those of which a
// request was allowed. An address from which a TCP connection was made is not forged, and so a limit
// for all others together, against floods with forged addresses, need not hit them.
//
// Only who sends the packets himself is verified (handdown.Sender). Of clients behind a proxy elsewhere that is the
// proxy, and nobody whom it names.
//
// What is told costs no request more than a look into a small table of those that were told of
// lately. Who is not there is put into a queue, from which Run tells the kernel of many at once.
package verify

import (
	"context"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/userspace/handdown"
	"github.com/headgate/headgate/userspace/ruleset"
	"github.com/headgate/headgate/userspace/seldom"
)

// Kernel is what is needed of the kernel's limiter.
type Kernel interface {
	// Verify makes the sources of these addresses verified for a time. It does not wait for commands that change the
	// instance.
	Verify(addrs []netip.Addr, period time.Duration) error
}

const (
	// share is the part of the time for which a source is verified after which it is told of again.
	share = 4
	// mostWaiting is how many sources may wait to be told of.
	mostWaiting = 4096
	// mostTold is how many the kernel is told of at once.
	mostTold = 1024
	// pause is the time between two times that the kernel is told, so that most of what is told costs nothing.
	pause = 10 * time.Millisecond
)

// Options are what a Verifier needs. Kernel must be set.
type Options struct {
	Kernel Kernel
	// For is how long a source is verified after a request that was allowed, at least; above 0.
	For time.Duration
	// Local reports whether an address is one of this machine. nil for none; loopback addresses always are.
	Local func(netip.Addr) bool
	// Log is told where the kernel takes nothing. nil for slog.Default.
	Log *slog.Logger
}

// Counters are what became of sources that were to be told of, since New.
type Counters struct {
	Told   uint64 // a source counts each time anew
	Lost   uint64 // for want of room in the queue
	Failed uint64 // as the kernel did not take them
}

// Verifier tells the kernel of clients. All methods may be called at the same time, but for Run, which is called once.
type Verifier struct {
	o      Options
	period atomic.Int64 // Options.For
	lately *lately
	queue  chan netip.Addr
	failed seldom.Event

	told, lost, failures atomic.Uint64
}

// New returns a Verifier. Nothing is told until Run runs.
func New(o Options) *Verifier {
	if o.Local == nil {
		o.Local = func(netip.Addr) bool { return false }
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	v := &Verifier{o: o, lately: newLately(), queue: make(chan netip.Addr, mostWaiting)}
	v.SetFor(o.For)
	return v
}

// SetFor changes Options.For. Who was told of by the former time is told of again when a part of that is over.
func (v *Verifier) SetFor(period time.Duration) { v.period.Store(int64(period)) }

// Counters returns what was counted.
func (v *Verifier) Counters() Counters {
	return Counters{Told: v.told.Load(), Lost: v.lost.Load(), Failed: v.failures.Load()}
}

// Observe has the kernel told of who has sent a request that was allowed, unless it was lately. It does nothing for
// other requests. now is the time since an instant that stays the same. Nothing of r and d is kept. It does not wait.
func (v *Verifier) Observe(r *ruleset.Request, d *ruleset.Decision, now time.Duration) {
	if !d.Allowed {
		return
	}
	addr := handdown.Sender(r, d, v.o.Local)
	if !addr.IsValid() || !v.lately.note(addr, now, now+v.again()) {
		return
	}
	select {
	case v.queue <- addr:
	default:
		v.lost.Add(1)
		v.lately.forget(addr)
	}
}

// again is how long after it was told of a source is told of again.
func (v *Verifier) again() time.Duration { return time.Duration(v.period.Load()) / share }

// Run tells the kernel until ctx ends.
func (v *Verifier) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case addr := <-v.queue:
			v.tell(v.batch(addr))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// batch returns the first and others that wait.
func (v *Verifier) batch(first netip.Addr) []netip.Addr {
	all := []netip.Addr{first}
	for len(all) < mostTold {
		select {
		case addr := <-v.queue:
			all = append(all, addr)
		default:
			return all
		}
	}
	return all
}

// tell tells the kernel. As the next time comes after a share of the period, a source has that much more.
func (v *Verifier) tell(addrs []netip.Addr) {
	err := v.o.Kernel.Verify(addrs, time.Duration(v.period.Load())+v.again())
	if err == nil {
		v.told.Add(uint64(len(addrs)))
		return
	}
	v.failures.Add(uint64(len(addrs)))
	for _, addr := range addrs {
		v.lately.forget(addr)
	}
	if times, ok := v.failed.Now(); ok {
		v.o.Log.Error("clients were not verified, they are again with their next requests", "error", err, "times", times)
	}
}
