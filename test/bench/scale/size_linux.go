package main

import (
	"fmt"
	"math/bits"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/bench/bpf"
	"github.com/headgate/headgate/test/bench/instance"
	"github.com/headgate/headgate/test/bench/report"
	"github.com/headgate/headgate/test/packet"
	"github.com/headgate/headgate/test/thread"
)

// Sources are those from firstSource on, in host byte order: 10.0.0.0.
const firstSource uint32 = 10 << 24

// spread is a program behind one that gives each packet another source.
type spread struct {
	coll    *ebpf.Collection
	limiter *instance.Instance // behind it, or nil where that is a program that only drops
}

// openSpread returns the program for packets of so many sources. limit is of each of them, or nil for no limiter.
func openSpread(sources uint64, limit *wire.Limit) (_ *spread, err error) {
	s := &spread{}
	if s.coll, err = bpf.Open(map[string]any{bpf.VarFirstSource: firstSource, bpf.VarSources: sources}); err != nil {
		return nil, err
	}
	target := s.coll.Programs[bpf.Noop]
	if limit != nil {
		if s.limiter, err = newInstance(*limit, mapSize(sources)); err != nil {
			s.close()
			return nil, err
		}
		target = s.limiter.Program(false)
	}
	if err := s.coll.Maps[bpf.MapTarget].Put(uint32(0), target); err != nil {
		s.close()
		return nil, fmt.Errorf("set the target of the tail call: %w", err)
	}
	return s, nil
}

// mapSize returns how many buckets there are for so many sources: the least power of two, but no more than for a full map of
// four million.
func mapSize(sources uint64) uint32 {
	return uint32(1) << min(bits.Len64(sources-1), 22)
}

// run returns the ns of CPU time for each of so many packets.
func (s *spread) run(packets int) (ns float64, err error) {
	err = thread.Run(thread.AnyCPU, func() error {
		ns, err = timeRun(s.coll.Programs[bpf.Spread], frame(1), packets)
		return err
	})
	return ns, err
}

func (s *spread) close() {
	s.coll.Close()
	if s.limiter != nil {
		s.limiter.Close()
	}
}

// frame returns one of the source 203.0.113.n.
func frame(n byte) []byte {
	const length, port = 64, 53
	source := fmt.Sprintf("203.0.113.%d", n)
	return packet.PadTo(packet.UDPFrame(source, "198.51.100.1", port, 18), length)
}

// sizes returns the numbers of sources, up to the largest.
func sizes(largest uint64) []uint64 {
	all := []uint64{1000, 10_000, 100_000, 1_000_000, 4_000_000}
	for i, n := range all {
		if n > largest {
			return all[:i]
		}
	}
	return all
}

// measureSizes returns what a packet costs by the number of sources, under their limits and over.
func measureSizes(p plan) ([]report.Size, error) {
	base, err := openSpread(sizes(p.largest)[0], nil)
	if err != nil {
		return nil, err
	}
	programs := []*spread{base}
	defer func() {
		for _, s := range programs {
			s.close()
		}
	}()
	var samples []report.SizeSample
	for _, n := range sizes(p.largest) {
		for _, limit := range []wire.Limit{instance.Fast(), instance.Slow()} {
			s, err := openSpread(n, &limit)
			if err != nil {
				return nil, err
			}
			programs = append(programs, s)
			if _, err := s.run(int(n) * p.warmUp); err != nil {
				return nil, err
			}
		}
		samples = append(samples, report.SizeSample{Sources: n, Buckets: uint64(mapSize(n))})
	}
	return sampleSizes(programs, samples, p)
}

// sampleSizes runs all programs in turn, round by round: the one that only drops, and two for each size.
func sampleSizes(programs []*spread, samples []report.SizeSample, p plan) ([]report.Size, error) {
	var base []float64
	for range p.rounds {
		for i, s := range programs {
			ns, err := s.run(p.repeat)
			if err != nil {
				return nil, err
			}
			switch {
			case i == 0:
				base = append(base, ns)
			case i%2 == 1:
				samples[i/2].Under = append(samples[i/2].Under, ns)
			default:
				samples[i/2-1].Over = append(samples[i/2-1].Over, ns)
			}
		}
	}
	return report.Sizes(base, samples), nil
}
