package main

import (
	"errors"
	"fmt"

	headgate "github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/test/bench/bpf"
	"github.com/headgate/headgate/test/bench/flow"
	"github.com/headgate/headgate/test/bench/instance"
	"github.com/headgate/headgate/test/bench/report"
)

// targetFlow is a flow with what receives it.
type targetFlow struct {
	*flow.Flow
	target  target
	limiter *instance.Instance // that receives, or nil
}

// target is what receives a flow: a program of the benchmark, or else a limiter.
type target struct {
	name    string
	program string
	setup   setup
	reason  headgate.Reason // for which a limiter decides
	sources uint64
}

// targets returns those that drop all, then those that pass all to the network stack, which has
// no use for the frames.
func targets() []target {
	return []target{
		{name: "noop (drop)", program: bpf.Noop, sources: 1},
		{name: "over, one source", reason: headgate.ReasonOverPacketLimit,
			setup: setup{onePolicy(instance.Slow()), nil, fewBuckets}, sources: 1},
		{name: "over, 1 M sources", reason: headgate.ReasonOverPacketLimit,
			setup: setup{onePolicy(instance.Slow()), nil, manyBuckets}, sources: many},
		{name: "pass (to the stack)", program: bpf.Pass, sources: 1},
		{name: "under, one source", reason: headgate.ReasonUnderLimit,
			setup: setup{onePolicy(instance.Fast()), nil, fewBuckets}, sources: 1},
		{name: "under, 1 M sources", reason: headgate.ReasonUnderLimit,
			setup: setup{onePolicy(instance.Fast()), nil, manyBuckets}, sources: many},
	}
}

// measureFlows returns how many packets a second each target receives, all in turn.
func measureFlows(p plan) (_ []report.Flow, err error) {
	var flows []*targetFlow
	defer func() {
		for _, f := range flows {
			err = errors.Join(err, f.close())
		}
	}()
	for _, t := range targets() {
		f, err := t.open()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		flows = append(flows, f)
		if _, err := f.run(int(t.sources) * p.warmUp); err != nil {
			return nil, err
		}
	}
	return sampleFlows(flows, p)
}

// sampleFlows runs all flows in turn, round by round.
func sampleFlows(flows []*targetFlow, p plan) ([]report.Flow, error) {
	perSecond := make([][]float64, len(flows))
	for range p.flowRounds {
		for i, f := range flows {
			rate, err := f.run(p.flowRepeat)
			if err != nil {
				return nil, err
			}
			perSecond[i] = append(perSecond[i], rate)
		}
	}
	var names []string
	for _, f := range flows {
		names = append(names, f.target.name)
		if err := f.check(); err != nil {
			return nil, err
		}
	}
	return report.Flows(names, perSecond), nil
}

// check returns an error unless the limiter decided for the reason that the flow is about. Of
// many sources each one has a first packet, which is under every limit.
func (f *targetFlow) check() error {
	if f.limiter == nil || f.target.sources > 1 {
		return nil
	}
	if err := f.limiter.Expect(f.target.reason); err != nil {
		return fmt.Errorf("%s: %w", f.target.name, err)
	}
	return nil
}

func (t target) open() (_ *targetFlow, err error) {
	f := &targetFlow{target: t}
	f.Flow, err = flow.Open(flow.Options{FirstSource: firstSource, Sources: t.sources, Port: framePort})
	if err != nil {
		return nil, err
	}
	receiver := f.Programs[t.program]
	if t.program == "" {
		if f.limiter, err = newInstance(t.setup); err != nil {
			return nil, errors.Join(err, f.close())
		}
		receiver = f.limiter.Program(false)
	}
	if err := f.Receive(receiver); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

// run sends so many packets, and returns how many a second arrive.
func (f *targetFlow) run(packets int) (float64, error) {
	arrived, err := f.Run(packets)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", f.target.name, err)
	}
	return arrived.PerSecond(), nil
}

func (f *targetFlow) close() error {
	err := f.Close()
	if f.limiter != nil {
		f.limiter.Close()
	}
	return err
}
