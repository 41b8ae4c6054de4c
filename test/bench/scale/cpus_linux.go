package main

import (
	"fmt"
	"time"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/bench/bpf"
	"github.com/headgate/headgate/test/bench/instance"
	"github.com/headgate/headgate/test/bench/report"
	"github.com/headgate/headgate/test/thread"
)

// buckets is room for more sources than there are here, but where each packet has a new one.
const buckets = 1 << 20

// traffic is what the CPUs get at once.
type traffic struct {
	name    string
	limit   *wire.Limit // nil for a program that only drops
	same    bool        // all CPUs get packets of one source
	oneLine bool        // each packet writes what all CPUs write
	fresh   bool        // each packet has a new source
}

func traffics() []traffic {
	under, over := instance.Fast(), instance.Slow()
	return []traffic{
		{name: report.NoopOnCPUs},
		{name: "one source, under", limit: &under, same: true, oneLine: true},
		{name: "one source, over", limit: &over, same: true},
		{name: "a source for each CPU, under", limit: &under},
		{name: "a source for each CPU, over", limit: &over},
		{name: "a new source per packet", limit: &under, fresh: true},
	}
}

// subject is a program that has to do with some traffic.
type subject struct {
	traffic
	program *ebpf.Program
	limiter *instance.Instance // or nil
	coll    *ebpf.Collection
	packets int // of a run, on each CPU
}

func (t traffic) open() (_ *subject, err error) {
	s := &subject{traffic: t}
	if s.coll, err = bpf.Open(map[string]any{bpf.VarSources: uint64(1) << 32}); err != nil {
		return nil, err
	}
	s.program = s.coll.Programs[bpf.Noop]
	if t.limit != nil {
		if s.limiter, err = newInstance(*t.limit, buckets); err != nil {
			s.close()
			return nil, err
		}
		s.program = s.limiter.Program(false)
	}
	if t.fresh {
		err = s.spread()
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// spread puts a program in front that gives each packet another source, and other ones on other CPUs.
func (s *subject) spread() error {
	if err := s.coll.Maps[bpf.MapTarget].Put(uint32(0), s.program); err != nil {
		return fmt.Errorf("set the target of the tail call: %w", err)
	}
	seeds := make([]uint64, ebpf.MustPossibleCPU())
	for cpu := range seeds {
		seeds[cpu] = uint64(cpu) << 32
	}
	if err := s.coll.Maps[bpf.MapRandom].Put(uint32(0), seeds); err != nil {
		return fmt.Errorf("seed the sources: %w", err)
	}
	s.program = s.coll.Programs[bpf.Spread]
	return nil
}

// warmUp finds out how many packets take that long on CPUs at once.
func (s *subject) warmUp(cpus []int, long time.Duration) error {
	s.packets = 300_000
	perSecond, err := s.run(cpus)
	s.packets = int(perSecond / float64(len(cpus)) * long.Seconds())
	return err
}

// run runs the program on CPUs at once, and returns how many packets they decide together in a second of CPU time of each.
func (s *subject) run(cpus []int) (float64, error) {
	ns := make([]float64, len(cpus))
	err := thread.Together(cpus, func(i int) (err error) {
		from := byte(1)
		if !s.same {
			from += byte(i)
		}
		ns[i], err = timeRun(s.program, frame(from), s.packets)
		return err
	})
	var sum float64
	for _, each := range ns {
		sum += 1e9 / each
	}
	return sum, err
}

func (s *subject) close() {
	s.coll.Close()
	if s.limiter != nil {
		s.limiter.Close()
	}
}

// measureCPUs returns what one CPU decides, and both at once.
func measureCPUs(cpus []int, p plan) ([]report.OnCPUs, error) {
	var subjects []*subject
	defer func() {
		for _, s := range subjects {
			s.close()
		}
	}()
	var samples []report.CPUSample
	for _, t := range traffics() {
		s, err := t.open()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		subjects = append(subjects, s)
		samples = append(samples, report.CPUSample{Name: t.name, OneLine: t.oneLine, Lines: t.fresh})
		if err := s.warmUp(cpus, p.together); err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
	}
	for range p.rounds {
		for i, s := range subjects {
			one, err := s.run(cpus[:1])
			if err != nil {
				return nil, err
			}
			two, err := s.run(cpus)
			if err != nil {
				return nil, err
			}
			samples[i].Add(one, two)
		}
	}
	return report.CPUs(samples), nil
}
