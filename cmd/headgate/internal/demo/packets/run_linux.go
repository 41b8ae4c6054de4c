package packets

import (
	"context"
	"fmt"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/demo/stage"
	"github.com/headgate/headgate/cmd/headgate/internal/demo/theory"
	"github.com/headgate/headgate/maps/wire"
)

// Play plays the act on a stage that is empty, and shows it live. second is how long a second of the script takes. It
// needs root. Numbers that are off are no error; the summary says so.
func Play(ctx context.Context, on *stage.Stage, live *stage.Live, second time.Duration) (Summary, error) {
	cast := cast()
	l, err := newLab(on, classifier(cast))
	if err != nil {
		return Summary{}, err
	}
	s := &show{
		lab:     l,
		traffic: newTraffic(l, cast),
		live:    live,
		theory:  make([]*theory.Theory, len(cast)),
	}
	if err := s.play(ctx, script(second)); err != nil {
		return Summary{}, err
	}
	s.summary.conclude(s.before.all)
	return s.summary, nil
}

// show plays the script.
type show struct {
	lab          *lab
	traffic      *traffic
	live         *stage.Live
	theory       []*theory.Theory // of each member of the cast, once it is limited
	before       reading          // at the start of the phase
	blockedUntil int64
	summary      Summary
}

func (s *show) play(ctx context.Context, phases []phase) error {
	if err := s.live.Introduce(intro()); err != nil {
		return err
	}
	for n := range phases {
		if err := s.phase(ctx, &phases[n]); err != nil {
			return fmt.Errorf("phase %q: %w", phases[n].short, err)
		}
	}
	return nil
}

func (s *show) phase(ctx context.Context, p *phase) error {
	if err := s.begin(p); err != nil {
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
	if err := s.live.End(picture(records)); err != nil {
		return err
	}
	return s.conclude(p, records)
}

// begin writes what a phase is about, and the command that does the same.
func (s *show) begin(p *phase) error {
	if err := s.live.Begin(p.title); err != nil || p.command == "" {
		return err
	}
	return s.live.Command(p.command, nil)
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
		s.blockedUntil = stage.BootTime() + p.lasts.Nanoseconds()
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
		s.theory[n] = theory.New(compiled.Packets, stage.BootTime())
		return nil
	}
	s.theory[n].Change(compiled.Packets)
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
	begins := stage.BootTime()
	if p.action != block {
		// A block that is about to end would make this phase a bit of the last one.
		if err := stage.SleepUntil(ctx, s.blockedUntil+theory.ClockError.Nanoseconds()); err != nil {
			return err
		}
		begins = stage.BootTime()
	}
	ends := begins + p.lasts.Nanoseconds()
	if p.action == block {
		ends = s.blockedUntil - 5*tick.Nanoseconds()
	}
	s.traffic.start()
	for at := begins; at < ends; at = max(at+tick.Nanoseconds(), stage.BootTime()) {
		if err := stage.SleepUntil(ctx, at); err != nil {
			return err
		}
		if err := s.traffic.tick(ctx, records, s.blockedUntil); err != nil {
			return err
		}
		if err := s.live.Tick(time.Now(), picture(records)); err != nil {
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
