package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/headgate/headgate/test/bench/report"
)

// measureFloods floods all candidates, in turns, and returns what was measured of each. A segment that dies in the kernel
// costs so many ns.
func (l *lab) measureFloods(p plan, progress io.Writer) (_ []report.Front, segment float64, err error) {
	all := candidates()
	samples := make([]report.FrontSample, len(all))
	for i, c := range all {
		samples[i] = report.FrontSample{Name: c.name, Ours: c.handsDown, HandsDown: c.handsDown}
	}
	for round := range p.rounds {
		for k := range all {
			at := (k + round) % len(all)
			fmt.Fprintf(progress, "http: flood %d of %d: %s\n", round+1, p.rounds, all[at].name)
			n, ns, err := l.measureFlood(p, all[at], round == p.rounds-1)
			if err != nil {
				return nil, 0, fmt.Errorf("%s: %w", all[at].name, err)
			}
			samples[at].Add(n)
			if all[at].config == candidates()[len(all)-1].config && ns > 0 {
				segment = ns
			}
		}
	}
	return report.Fronts(samples), segment, nil
}

// measureFlood floods one candidate.
func (l *lab) measureFlood(p plan, c candidate, last bool) (n report.FrontNumbers, segment float64, err error) {
	f, err := l.startFront(c)
	if err != nil {
		return n, 0, err
	}
	defer func() { err = errors.Join(err, f.stop()) }()
	quiet, err := f.work(p.phase)
	if err != nil {
		return n, 0, err
	}
	busy, both, err := f.workAndFlood(p.phase)
	if err != nil {
		return n, 0, err
	}
	alone, err := f.floodAlone(p.phase, both)
	if err != nil {
		return n, 0, err
	}
	n = report.FrontNumbers{
		Quiet: quiet.rate(), QuietP99: quiet.P99, Flooded: busy.rate(), FloodedP99: busy.P99, Until: both.Refused,
		Attempts: float64(alone.arrived) / alone.flood.Took.Seconds(), CPU: alone.used / time.Duration(max(alone.arrived, 1)),
		Busy: alone.busy,
	}
	if last && c.handsDown {
		segment, err = f.sendSegments(p.segments)
	}
	return n, segment, err
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

func (f *front) startFlood(d time.Duration) (*process, error) {
	return startRole(roleFlood, f.attacker, f.atAttacker(),
		Flood{Addr: attackedServer, Path: limitedPath, Conns: floodConns, Rate: floodRate, For: d})
}

// workAndFlood has both clients at it. The flood ends last.
func (f *front) workAndFlood(d time.Duration) (w Worked, fl Flooded, err error) {
	attacker, err := f.startFlood(d + d/5)
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

// floodAlone has only the attacker at it. before is what he did until then.
func (f *front) floodAlone(d time.Duration, before Flooded) (n flooding, err error) {
	was, err := f.packets()
	if err != nil {
		return n, err
	}
	if err := f.timeFlood(d, &n); err != nil {
		return n, err
	}
	is, err := f.packets()
	if err != nil {
		return n, err
	}
	meanwhile := is.minus(was)
	n.arrived = n.flood.attempts()
	if f.handsDown {
		n.arrived -= meanwhile.lost
	}
	return n, f.checkAlone(n.flood, before, meanwhile)
}

func (f *front) timeFlood(d time.Duration, n *flooding) error {
	then, errTicks := readTicks(f.serverCPU)
	began, errClock := cpuTime(f.pids()...)
	p, err := f.startFlood(d)
	if err := errors.Join(errTicks, errClock, err); err != nil {
		return err
	}
	if err := p.result(&n.flood); err != nil {
		return err
	}
	ended, errClock := cpuTime(f.pids()...)
	now, errTicks := readTicks(f.serverCPU)
	n.used, n.busy = ended-began, now.since(then)
	return errors.Join(errClock, errTicks)
}
