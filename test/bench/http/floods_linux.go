package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/headgate/headgate/test/bench/report"
)

// floods is what was measured of all candidates, in turns.
type floods struct {
	samples []report.FrontSample
	wire    []report.Wire   // of each round
	frames  []report.Frames // that headgate drops, of each front that hands down in each round
}

// measureFloods floods all candidates.
func (l *lab) measureFloods(p plan, progress io.Writer) (*floods, error) {
	all := candidates()
	fl := &floods{samples: make([]report.FrontSample, len(all))}
	for i, c := range all {
		fl.samples[i] = report.FrontSample{Name: c.name, Ours: c.config != "", HandsDown: c.handsDown}
	}
	for round := range p.rounds {
		wire, err := l.measureWire(p)
		if err != nil {
			return nil, err
		}
		fl.wire = append(fl.wire, wire)
		for k := range all {
			at := (k + round) % len(all)
			fmt.Fprintf(progress, "http: flood %d of %d: %s\n", round+1, p.rounds, all[at].name)
			n, frames, err := l.measureFlood(p, all[at])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", all[at].name, err)
			}
			fl.samples[at].Add(n)
			if all[at].handsDown {
				fl.frames = append(fl.frames, frames)
			}
		}
	}
	return fl, nil
}

// measureFlood floods one candidate.
func (l *lab) measureFlood(p plan, c candidate) (n report.FrontNumbers, frames report.Frames, err error) {
	f, err := l.startFront(c)
	if err != nil {
		return n, frames, err
	}
	defer func() { err = errors.Join(err, f.stop()) }()
	quiet, err := f.work(p.phase)
	if err != nil {
		return n, frames, err
	}
	busy, both, err := f.workAndFlood(p.phase)
	if err != nil {
		return n, frames, err
	}
	alone, err := f.floodAlone(p.phase, false)
	if err != nil {
		return n, frames, err
	}
	anew := alone // who is handed down opens none anyway
	if !c.handsDown {
		if anew, err = f.floodAlone(p.phase, true); err != nil {
			return n, frames, err
		}
	}
	n = report.FrontNumbers{
		Quiet: quiet.rate(), QuietP99: quiet.P99, Flooded: busy.rate(), FloodedP99: busy.P99, Until: both.Refused,
		Attempts: float64(alone.arrived) / alone.flood.Took.Seconds(), CPU: alone.each(),
		CPUAnew: anew.each(), Busy: alone.busy,
	}
	if c.handsDown {
		frames, err = f.sendFrames(p.frames)
	}
	return n, frames, err
}

// work has the client work that works.
func (f *front) work(d time.Duration) (w Worked, err error) {
	p, err := f.startWork(d)
	if err != nil {
		return w, err
	}
	return w, p.result(&w)
}

func (f *front) startWork(d time.Duration) (*process, error) {
	return startRole(roleWork, f.worker, f.atWorker(),
		Work{Addr: workedServer, Path: workPath, Conns: workConns, Pause: workPause, For: d})
}

func (l *lab) startFlood(d time.Duration, anew bool) (*process, error) {
	return startRole(roleFlood, l.attacker, l.atAttacker(),
		Flood{Addr: attackedServer, Path: limitedPath, Conns: floodConns, Rate: floodRate, Anew: anew, For: d})
}

// workAndFlood has both clients at it. The flood ends last.
func (f *front) workAndFlood(d time.Duration) (w Worked, fl Flooded, err error) {
	attacker, err := f.startFlood(d+d/5, false)
	if err != nil {
		return w, fl, err
	}
	worker, err := f.startWork(d)
	if err != nil {
		attacker.kill()
		return w, fl, err
	}
	if err := errors.Join(worker.result(&w), attacker.result(&fl)); err != nil {
		return w, fl, err
	}
	return w, fl, f.checkFlood(fl)
}

// flooding is what was measured while only the attacker was at it.
type flooding struct {
	flood   Flooded
	arrived int           // attempts that were not lost on the wire
	used    time.Duration // of CPU time by the servers
	busy    float64       // share of the time that the servers' CPU was busy with anything
}

// each returns the CPU time of an attempt.
func (n flooding) each() time.Duration { return n.used / time.Duration(max(n.arrived, 1)) }

// floodAlone has only the attacker at it.
func (f *front) floodAlone(d time.Duration, anew bool) (n flooding, err error) {
	was, err := f.packets()
	if err != nil {
		return n, err
	}
	if n, err = f.timeFlood(f.pids(), d, anew); err != nil {
		return n, err
	}
	is, err := f.packets()
	if err != nil {
		return n, err
	}
	meanwhile := is.minus(was)
	if f.handsDown {
		n.arrived -= meanwhile.lost
	}
	return n, f.checkAlone(n.flood, meanwhile)
}

// timeFlood has only the attacker at it, and measures the CPU time of some processes meanwhile.
func (l *lab) timeFlood(pids []int, d time.Duration, anew bool) (n flooding, err error) {
	then, errTicks := readTicks(l.serverCPU)
	began, errClock := cpuTime(pids...)
	p, err := l.startFlood(d, anew)
	if err := errors.Join(errTicks, errClock, err); err != nil {
		return n, err
	}
	if err := p.result(&n.flood); err != nil {
		return n, err
	}
	ended, errClock := cpuTime(pids...)
	now, errTicks := readTicks(l.serverCPU)
	n.arrived, n.used, n.busy = n.flood.attempts(), ended-began, now.since(then)
	return n, errors.Join(errClock, errTicks)
}
