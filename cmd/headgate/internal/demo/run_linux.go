package demo

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/headgate/headgate/maps/wire"
)

// Run runs the demo, and returns when nothing is left of it. It needs root. An error says that it
// did not come to its end: because ctx ended, because something is missing, or because the output
// cannot be written. Numbers that are off are no error; the summary says so.
func Run(ctx context.Context, o Options) (Summary, error) {
	type result struct {
		summary Summary
		err     error
	}
	done := make(chan result)
	go func() {
		// Never unlocked, so that the thread ends, and its namespaces with it.
		runtime.LockOSThread()
		summary, err := run(ctx, o.withDefaults())
		done <- result{summary, err}
	}()
	r := <-done
	return r.summary, r.err
}

func run(ctx context.Context, o Options) (summary Summary, err error) {
	began := time.Now()
	cast := cast()
	l, err := newLab(classifier(cast))
	if err != nil {
		return Summary{}, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	s := &show{
		lab:     l,
		traffic: newTraffic(l, cast),
		live:    &live{w: o.Live, terminal: o.Terminal},
		theory:  make([]*theory, len(cast)),
	}
	defer func() { err = errors.Join(err, s.live.close()) }()

	if err := s.play(ctx, script(o.Second)); err != nil {
		return Summary{}, err
	}
	s.summary.conclude(time.Since(began), s.before.all)
	return s.summary, nil
}

// show plays the script.
type show struct {
	lab          *lab
	traffic      *traffic
	live         *live
	theory       []*theory // of each member of the cast, once it is limited
	before       reading   // at the start of the phase
	blockedUntil int64
	summary      Summary
}

func (s *show) play(ctx context.Context, phases []phase) error {
	if err := s.live.intro(); err != nil {
		return err
	}
	for n := range phases {
		if err := s.phase(ctx, n+1, &phases[n]); err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("the demo was interrupted, and has removed what it made: %w", ctx.Err())
			}
			return fmt.Errorf("phase %d: %w", n+1, err)
		}
	}
	return nil
}

func (s *show) phase(ctx context.Context, n int, p *phase) error {
	if err := s.live.begin(n, p); err != nil {
		return err
	}
	if err := s.act(p); err != nil {
		return err
	}
	if err := s.newLimits(p); err != nil {
		return err
	}
	records := s.records()
	if err := s.run(ctx, p, records); err != nil {
		return err
	}
	if err := s.live.end(records); err != nil {
		return err
	}
	return s.conclude(p, records)
}

// act does what the command of the phase does.
func (s *show) act(p *phase) error {
	target := s.traffic.cast[flooder].prefix
	switch p.action {
	case attach:
		limit, err := standard().parse()
		if err != nil {
			return err
		}
		mode, err := s.lab.attach(limit)
		s.summary.Mode = mode.String()
		return err
	case lower:
		limit, err := p.flooder.parse()
		if err != nil {
			return err
		}
		return s.lab.limit(target, limit)
	case lift:
		return s.lab.unset(target)
	case block:
		s.blockedUntil = bootTime() + p.lasts.Nanoseconds()
		return s.lab.block(target, s.blockedUntil)
	default:
		return nil
	}
}

// newLimits tells theory what is limited from now on.
func (s *show) newLimits(p *phase) error {
	if !p.limited {
		return nil
	}
	for n := range s.theory {
		limit, err := s.limitOf(n, p).parse()
		if err != nil {
			return err
		}
		if err := s.newLimit(n, limit); err != nil {
			return err
		}
	}
	return nil
}

func (s *show) newLimit(n int, limit wire.Limit) error {
	compiled, err := limit.Compile()
	if err != nil {
		return err
	}
	if s.theory[n] == nil {
		s.theory[n] = newTheory(compiled.Packets, bootTime())
		return nil
	}
	s.theory[n].change(compiled.Packets)
	return nil
}

func (s *show) limitOf(n int, p *phase) limitText {
	if n == flooder {
		return p.flooder
	}
	return standard()
}

func (s *show) records() []*record {
	var records []*record
	for n, member := range s.traffic.cast {
		records = append(records, &record{source: member, theory: s.theory[n]})
	}
	return records
}

// run has traffic for as long as the phase lasts.
func (s *show) run(ctx context.Context, p *phase, records []*record) error {
	begins := bootTime()
	if p.action != block {
		// A block that is about to end would make this phase a bit of the last one.
		if err := sleepUntil(ctx, s.blockedUntil+clockError.Nanoseconds()); err != nil {
			return err
		}
		begins = bootTime()
	}
	ends := begins + p.lasts.Nanoseconds()
	if p.action == block {
		ends = s.blockedUntil - 5*tick.Nanoseconds()
	}
	s.traffic.start()
	for at := begins; at < ends; at = max(at+tick.Nanoseconds(), bootTime()) {
		if err := sleepUntil(ctx, at); err != nil {
			return err
		}
		if err := s.traffic.tick(ctx, records, s.blockedUntil); err != nil {
			return err
		}
		if err := s.live.tick(time.Now(), records); err != nil {
			return err
		}
	}
	return nil
}

// conclude checks the numbers of a phase. All has arrived and nothing is sent, so headgate's counters
// stand still.
func (s *show) conclude(p *phase, records []*record) error {
	now, err := s.lab.read()
	if err != nil {
		return err
	}
	for n, r := range records {
		var counted *Counted
		if p.limited {
			counted = now.of(n, r.source, s.before)
		}
		s.summary.Checks = append(s.summary.Checks, r.check(p, s.limitOf(n, p).perSecond(), counted))
	}
	s.before = now
	return nil
}

// sleepUntil returns at a time of the boot clock, or when ctx ends, with its error.
func sleepUntil(ctx context.Context, at int64) error {
	timer := time.NewTimer(time.Duration(at - bootTime()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return ctx.Err()
	}
}
