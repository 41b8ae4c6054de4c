package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/headgate/headgate/test/bench/host"
	"github.com/headgate/headgate/test/bench/report"
)

// plan is how much is measured.
type plan struct {
	rounds int           // of the flood
	phase  time.Duration // of each of the three phases of a round
	frames int           // of each kind that a driver hands over
	asking int           // rounds of what the agent costs
	each   time.Duration // of one of those
}

// Parts of the benchmark.
const (
	onlyFloods = "floods"
	onlyCosts  = "costs"
)

// planFor returns what is measured: both parts, or only one.
func planFor(quick bool, only string) plan {
	p := plan{rounds: 3, phase: 2 * time.Second, frames: 1_000_000, asking: 7, each: 600 * time.Millisecond}
	if quick {
		p = plan{rounds: 1, phase: time.Second, frames: 20_000, asking: 1, each: 200 * time.Millisecond}
	}
	switch only {
	case onlyFloods:
		p.asking = 0
	case onlyCosts:
		p.rounds = 0
	}
	return p
}

// How much clients do.
const (
	workConns  = 8
	workPause  = 10 * time.Millisecond
	floodConns = 256
	floodRate  = 40_000 // attempts a second
)

// measureAll measures all. headgate is the program; empty for one that is built.
func measureAll(ctx context.Context, p plan, headgate string, progress io.Writer) (_ *report.Goodput, err error) {
	on, err := host.Read()
	if err != nil {
		return nil, err
	}
	l, err := newLab(ctx, headgate)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	r := &report.Goodput{
		Host: on, Rounds: p.rounds, Phase: p.phase, Rate: floodRate, Connections: floodConns,
		AskRounds: p.asking, Asking: p.each,
	}
	if p.asking > 0 {
		if r.Costs, r.Memory, err = l.measureCosts(p, progress); err != nil {
			return nil, err
		}
	}
	if p.rounds > 0 {
		floods, err := l.measureFloods(p, progress)
		if err != nil {
			return nil, err
		}
		r.Fronts, r.Wire, r.Frames = report.Fronts(floods.samples), report.MedianWire(floods.wire), report.MedianFrames(floods.frames)
	}
	r.Verdicts = report.GoodputVerdicts(r)
	return r, nil
}
