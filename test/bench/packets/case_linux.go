package main

import (
	"fmt"
	"time"

	"github.com/cilium/ebpf"

	headgate "github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/test/bench/bpf"
	"github.com/headgate/headgate/test/bench/instance"
	"github.com/headgate/headgate/test/bench/report"
	"github.com/headgate/headgate/test/thread"
)

// What an XDP program returns.
const (
	xdpDrop = 1
	xdpPass = 2
)

// benchCase is one program to measure, with the frame that it gets.
type benchCase struct {
	name    string
	program *ebpf.Program
	frame   []byte
	returns uint32 // what the program has to return
	sources int    // about as many as have to be warmed up
	again   int    // packets before each sample, so that what others put into the caches is not measured
	spread  bool   // program sets another source per packet, and calls what is measured

	limiter *instance.Instance // that is measured, or nil
	reason  headgate.Reason
	opened  []*ebpf.Collection
}

// newCases returns all cases in the order of the report. What it opened before an error is in
// the cases that it returns with it.
func newCases() ([]*benchCase, error) {
	cases, err := newBaselines()
	if err != nil {
		return cases, err
	}
	for _, s := range subjects() {
		c, err := s.open()
		if err != nil {
			return cases, fmt.Errorf("%s: %w", s.name, err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

func newBaselines() ([]*benchCase, error) {
	coll, err := bpf.Open(nil)
	if err != nil {
		return nil, err
	}
	noop := &benchCase{
		name: report.Noop, program: coll.Programs[bpf.Noop], frame: frame4(), returns: xdpDrop,
		opened: []*ebpf.Collection{coll},
	}
	clock := &benchCase{
		name: report.Clock, program: coll.Programs[bpf.Clock], frame: frame4(), returns: xdpDrop,
	}
	spreading := &benchCase{
		name: report.SpreadBy, program: coll.Programs[bpf.Noop], frame: frame4(), returns: xdpDrop,
	}
	cases := []*benchCase{noop, clock, spreading}
	return cases, spreading.spreadOver(consecutive(many))
}

// spreadOver makes the packets of the case come from these sources.
func (c *benchCase) spreadOver(sources addresses) error {
	coll, err := bpf.Open(map[string]any{
		bpf.VarFirstSource: sources.first,
		bpf.VarSourceStep:  sources.step,
		bpf.VarSourceMask:  sources.mask,
		bpf.VarSources:     sources.n,
	})
	if err != nil {
		return err
	}
	c.opened = append(c.opened, coll)
	if err := coll.Maps[bpf.MapTarget].Put(uint32(0), c.program); err != nil {
		return fmt.Errorf("set the target of the tail call: %w", err)
	}
	c.program, c.spread = coll.Programs[bpf.Spread], true
	return nil
}

// run runs the program on so many packets, and returns the CPU time that all of it took.
func (c *benchCase) run(packets int) (time.Duration, error) {
	before, err := thread.Time()
	if err != nil {
		return 0, err
	}
	returned, _, err := c.program.Benchmark(c.frame, packets, nil)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", c.name, err)
	}
	after, err := thread.Time()
	if err != nil {
		return 0, err
	}
	if returned != c.returns {
		return 0, fmt.Errorf("%s: returned %d, not %d: it is not what is meant to be measured",
			c.name, returned, c.returns)
	}
	return after - before, nil
}

// check returns an error unless the limiter decided for the reason that the case is about.
func (c *benchCase) check() error {
	if c.limiter == nil {
		return nil
	}
	if err := c.limiter.Expect(c.reason); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}

func (c *benchCase) close() {
	for _, coll := range c.opened {
		coll.Close()
	}
	if c.limiter != nil {
		c.limiter.Close()
	}
}
