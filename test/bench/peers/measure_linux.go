package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/headgate/headgate/test/bench/flow"
	"github.com/headgate/headgate/test/bench/host"
	"github.com/headgate/headgate/test/bench/report"
)

// Frames come from addresses on from firstSource, in host byte order: 10.0.0.0.
const (
	firstSource uint32 = 10 << 24
	framePort          = 53 // the destination's
)

// load is from how many sources frames come.
type load struct {
	name    string
	sources uint64
	warmUp  int // packets beforehand
}

// loads returns all, from the one that every limiter likes to the one that none does. Warming up uses the bursts up, has
// all but 5 % of a million sources seen, and fills every table where each frame has a new source.
func loads() []load {
	return []load{
		{"1 source", 1, 500_000},
		{"256 sources", 256, 1_000_000},
		{"65,536 sources", 1 << 16, 1_000_000},
		{report.MillionSources, 1_000_000, 3_000_000},
		{report.NewSources, 1 << 32, 2_500_000},
	}
}

// plan is how much is measured.
type plan struct {
	rounds  int
	packets int // in each, for each load and receiver
	shorten int // what warm-ups are divided by
}

func planFor(quick bool) plan {
	if quick {
		return plan{rounds: 1, packets: 300_000, shorten: 10}
	}
	return plan{rounds: 5, packets: 1_000_000, shorten: 1}
}

func measureAll(p plan, progs programs, progress io.Writer) (*report.Peers, error) {
	on, err := host.Read()
	if err != nil {
		return nil, err
	}
	r := &report.Peers{
		Host: on, Versions: progs.versions, Rounds: p.rounds, Repeat: p.packets,
		Rate: limitRate, Burst: limitBurst, Total: totalRate,
	}
	loads, err := sampleAll(receivers(progs), p, progress)
	if err != nil {
		return nil, err
	}
	r.Rows = report.PeerRows(loads)
	r.Verdicts = report.PeerVerdicts(r.Rows)
	return r, nil
}

// sampleAll measures every receiver under every load, all in turn, round by round.
func sampleAll(all []receiver, p plan, progress io.Writer) ([]report.PeerLoad, error) {
	samples := newSamples(all)
	for round := range p.rounds {
		fmt.Fprintf(progress, "peers: round %d of %d\n", round+1, p.rounds)
		for i, l := range loads() {
			for j, r := range all {
				got, err := measure(l, r, p)
				if err != nil {
					return nil, fmt.Errorf("%s, %s: %w", l.name, r.name, err)
				}
				samples[i].Receivers[j].Add(got)
			}
		}
	}
	return samples, nil
}

func newSamples(all []receiver) []report.PeerLoad {
	var samples []report.PeerLoad
	for _, l := range loads() {
		s := report.PeerLoad{Name: l.name}
		for _, r := range all {
			s.Receivers = append(s.Receivers, report.PeerSample{Name: r.name, Ours: r.ours, Limit: r.most(l.sources)})
		}
		samples = append(samples, s)
	}
	return samples
}

// measure sets a receiver up, warms it up, and returns what it made of the frames of one run.
func measure(l load, r receiver, p plan) (_ report.PeerRun, err error) {
	f, err := flow.Open(flow.Options{FirstSource: firstSource, Sources: l.sources, Port: framePort})
	if err != nil {
		return report.PeerRun{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	tally, remove, err := r.setUp(f)
	if err != nil {
		return report.PeerRun{}, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if err := warmUp(f, uint64(l.warmUp/p.shorten)); err != nil {
		return report.PeerRun{}, err
	}
	return sample(f, tally, p.packets)
}

// warmUp sends until so many packets have arrived: on a busy machine a receiver misses some.
func warmUp(f *flow.Flow, packets uint64) error {
	for arrived := uint64(0); arrived < packets; {
		a, err := f.Run(int(packets - arrived))
		if err != nil {
			return err
		}
		arrived += a.Packets
	}
	return nil
}

// sample measures one run, and checks that the receiver's counters agree with what arrived.
func sample(f *flow.Flow, tally tally, packets int) (report.PeerRun, error) {
	before, err := tally()
	if err != nil {
		return report.PeerRun{}, err
	}
	arrived, err := f.Run(packets)
	if err != nil {
		return report.PeerRun{}, err
	}
	after, err := tally()
	if err != nil {
		return report.PeerRun{}, err
	}
	got := after.minus(before)
	if got.passed+got.over > arrived.Packets {
		return report.PeerRun{}, fmt.Errorf("%d packets let through and %d over the limit, of %d", got.passed, got.over, arrived.Packets)
	}
	return report.PeerRun{
		Packets: arrived.Packets, Passed: got.passed, Over: got.over, Elapsed: arrived.Elapsed,
	}, nil
}
