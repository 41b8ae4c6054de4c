package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"time"

	"github.com/headgate/headgate/test/bench/host"
	"github.com/headgate/headgate/test/bench/instance"
	"github.com/headgate/headgate/test/bench/report"
)

// plan is how much is measured.
type plan struct {
	rounds, repeat         int // of the programs by themselves: samples, and packets in each
	flowRounds, flowRepeat int // over a veth pair
	loads                  int // of the whole limiter
	warmUp                 int // packets per source beforehand, where there are many
}

func planFor(quick bool) plan {
	if quick {
		return plan{rounds: 5, repeat: 100_000, flowRounds: 2, flowRepeat: 200_000, loads: 1, warmUp: 1}
	}
	return plan{rounds: 30, repeat: 400_000, flowRounds: 7, flowRepeat: 1_000_000, loads: 3, warmUp: 8}
}

// loadBound is how long loading the limiter may take.
const loadBound = 2 * time.Second

func measureAll(p plan, progress io.Writer) (*report.Packets, error) {
	runtime.LockOSThread() // thread.Time is of this one
	defer runtime.UnlockOSThread()

	on, err := host.Read()
	if err != nil {
		return nil, err
	}
	r := &report.Packets{Host: on, Rounds: p.rounds, Repeat: p.repeat}
	fmt.Fprintln(progress, "packets: loading")
	load, err := measureLoad(p.loads)
	if err != nil {
		return nil, err
	}
	if r.Cases, err = measureCases(p, progress); err != nil {
		return nil, err
	}
	fmt.Fprintln(progress, "packets: veth pairs")
	if r.Flows, err = measureFlows(p); err != nil {
		return nil, err
	}
	r.Verdicts = verdicts(r.Cases, load)
	return r, nil
}

// measureLoad returns how long it takes, at worst, to load the limiter with a million buckets.
func measureLoad(times int) (time.Duration, error) {
	var slowest time.Duration
	for range times {
		start := time.Now()
		in, err := newInstance(setup{policies: onePolicy(instance.Fast()), buckets: manyBuckets})
		if err != nil {
			return 0, err
		}
		slowest = max(slowest, time.Since(start))
		in.Close()
	}
	return slowest, nil
}

// measureCases runs all cases in turn, round by round.
func measureCases(p plan, progress io.Writer) ([]report.Case, error) {
	cases, err := newCases()
	defer func() {
		for _, c := range cases {
			c.close()
		}
	}()
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(progress, "packets: warming up")
	for _, c := range cases {
		if _, err := c.run(max(c.sources*p.warmUp, p.repeat)); err != nil {
			return nil, err
		}
	}
	fmt.Fprintf(progress, "packets: %d programs in %d rounds\n", len(cases), p.rounds)
	samples, err := sample(cases, p)
	if err != nil {
		return nil, err
	}
	for _, c := range cases {
		if err := c.check(); err != nil {
			return nil, err
		}
	}
	return report.Cases(samples), nil
}

func sample(cases []*benchCase, p plan) ([]report.Sample, error) {
	entry, err := entryTime(cases[0])
	if err != nil {
		return nil, err
	}
	samples := make([]report.Sample, len(cases))
	for i, c := range cases {
		samples[i] = report.Sample{Name: c.name, Baseline: c.limiter == nil, Spread: c.spread}
	}
	for range p.rounds {
		for i, c := range cases {
			if c.again > 0 {
				if _, err := c.run(c.again); err != nil {
					return nil, err
				}
			}
			took, err := c.run(p.repeat)
			if err != nil {
				return nil, err
			}
			ns := float64(took-entry) / float64(p.repeat)
			samples[i].NS = append(samples[i].NS, ns)
		}
	}
	return samples, nil
}

// entryTime returns what a run takes however few packets it is of: a quarter of a millisecond,
// in which the kernel patches itself to call the program without an indirect jump. It does that
// only for runs of at least two packets.
func entryTime(c *benchCase) (time.Duration, error) {
	const tries, packets = 50, 2
	least := time.Duration(math.MaxInt64)
	for range tries {
		took, err := c.run(packets)
		if err != nil {
			return 0, err
		}
		least = min(least, took)
	}
	return least, nil
}

func verdicts(cases []report.Case, load time.Duration) []report.Verdict {
	noop, clock := report.Net(cases, report.Noop), report.Net(cases, report.Clock)
	bound := noop + 2*(clock-noop)
	var verdicts []report.Verdict
	for _, name := range []string{hotUnder, hotOver} {
		verdicts = append(verdicts,
			report.AtMost(name, report.Net(cases, name), bound, "noop + 2*(clock-noop)", "ns"))
	}
	verdicts = append(verdicts, floodVerdict(cases))
	verdicts = append(verdicts, listVerdicts(cases)...)
	return append(verdicts, report.AtMost("loading with a bucket map of 1 M entries",
		load.Seconds(), loadBound.Seconds(), "target", "s"))
}

// floodVerdict says whether a flood from made-up addresses costs about as much as one from a single
// source.
func floodVerdict(cases []report.Case) report.Verdict {
	const most = 1.3
	return report.AtMost(spoofed, report.Net(cases, spoofed), most*report.Net(cases, hotOver), "1.3 * one source, over", "ns")
}
