package replay

import (
	"context"
	"io"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
)

// Options are the settings of Run. The zero value is useful.
type Options struct {
	Format Format
	// Host is that of requests of which it is not recorded, as in logs of the format combined.
	Host string
	// Top is how many clients and keys the summary names at most. Counting them takes a quarter of the time, and
	// with 0 none are counted.
	Top int
	// Each, if not nil, is called for each request, in order. Neither argument may be kept. An error of it ends
	// the replay.
	Each func(*Request, *ruleset.Decision) error
	// Progress, if not nil, is called every few hundred requests.
	Progress func()
}

// Run decides about each request of a recording by the rules of h, every key being one never seen, and
// returns what became of them.
//
// It returns an error for rules that cannot be kept; and, with the summary of what was done until
// then, if reading fails, if Each does, or that of ctx when it ends. It then does not wait for a Read that blocks.
func Run(ctx context.Context, recording io.Reader, h config.HTTP, o Options) (*Summary, error) {
	set, err := ruleset.NewSerial(h)
	if err != nil {
		return nil, err
	}
	lines := newPipeline(recording)
	p := &player{set: set, each: o.Each, tally: newTally(h, o.Top), clock: newClock(h)}
	err = lines.each(ctx, func() *parser { return newParser(o.Format, o.Host) }, func(b *batch) error {
		if o.Progress != nil {
			defer o.Progress()
		}
		return p.batch(b)
	})
	s := p.tally.summary()
	s.Counters, s.EndedEarly = set.Counters(), p.underWay.early
	return s, err
}

// player decides about requests.
type player struct {
	set      *ruleset.Set
	each     func(*Request, *ruleset.Decision) error
	tally    *tally
	underWay underWay
	clock    clock
}

func (p *player) batch(b *batch) error {
	p.tally.lines.add(&b.lines)
	for i := range b.requests {
		if err := p.play(&b.requests[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) play(r *Request) (err error) {
	now := p.clock.at(r)
	p.underWay.end(now)
	d := p.set.Decide(&r.Request, sinceBoot(now))
	p.tally.add(r, d)
	if p.each != nil {
		err = p.each(r, d)
	}
	if end, holds := endOf(r, d); holds {
		p.underWay.add(d, end)
	} else {
		d.Free(sinceBoot(now))
	}
	return err
}

// endOf returns when a request ends, if it holds a place until then.
func endOf(r *Request, d *ruleset.Decision) (end time.Duration, holds bool) {
	if !d.Allowed || r.Took == Unknown || !atATime(d) {
		return 0, false
	}
	return after(after(r.At, r.Took), d.Delay), true
}

// atATime reports whether a limit of requests at a time was asked.
func atATime(d *ruleset.Decision) bool {
	for i := range d.Limits {
		if d.Limits[i].Quota == "" {
			return true
		}
	}
	return false
}

// after is t+d, or the largest time if that is later.
func after(t, d time.Duration) time.Duration {
	const largest time.Duration = 1<<63 - 1
	if d > largest-max(t, 0) {
		return largest
	}
	return t + d
}
