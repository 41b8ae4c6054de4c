package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	headgate "github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/test/bench/bpf"
	"github.com/headgate/headgate/test/bench/report"
	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/packet"
)

// flow is a veth pair between two namespaces, with a program that makes frames at the near end
// and one that receives them at the far end.
type flow struct {
	target    target
	generator *ebpf.Program
	limiter   *instance // that receives, or nil
	frame     []byte
	pair      *netlab.Pair
	closers   []func() error
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
			setup: setup{onePolicy(slow()), nil, fewBuckets}, sources: 1},
		{name: "over, 1 M sources", reason: headgate.ReasonOverPacketLimit,
			setup: setup{onePolicy(slow()), nil, manyBuckets}, sources: many},
		{name: "pass (to the stack)", program: bpf.Pass, sources: 1},
		{name: "under, one source", reason: headgate.ReasonUnderLimit,
			setup: setup{onePolicy(fast()), nil, fewBuckets}, sources: 1},
		{name: "under, 1 M sources", reason: headgate.ReasonUnderLimit,
			setup: setup{onePolicy(fast()), nil, manyBuckets}, sources: many},
	}
}

// measureFlows returns how many packets a second each target receives, all in turn.
func measureFlows(p plan) (_ []report.Flow, err error) {
	var flows []*flow
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
func sampleFlows(flows []*flow, p plan) ([]report.Flow, error) {
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
func (f *flow) check() error {
	if f.limiter == nil || f.target.sources > 1 {
		return nil
	}
	if err := f.limiter.expect(f.target.reason); err != nil {
		return fmt.Errorf("%s: %w", f.target.name, err)
	}
	return nil
}

func (t target) open() (_ *flow, err error) {
	f := &flow{target: t}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	if err := f.connect(); err != nil {
		return nil, err
	}
	coll, err := loadBench(map[string]any{
		bpf.VarFirstSource: firstSource,
		bpf.VarSources:     t.sources,
		bpf.VarOutIfindex:  uint32(f.pair.Near.Index),
	})
	if err != nil {
		return nil, err
	}
	f.onClose(func() error { coll.Close(); return nil })
	f.generator = coll.Programs[bpf.Generate]
	f.frame = packet.PadTo(packet.Build(
		packet.Ethernet{Src: f.pair.Near.MAC, Dst: f.pair.Far.MAC}, packet.IPv4{}, packet.UDP{Dst: framePort},
	), packet.MinFrame)

	receiver := coll.Programs[t.program]
	if t.program == "" {
		if f.limiter, err = newInstance(t.setup); err != nil {
			return nil, err
		}
		f.onClose(func() error { f.limiter.close(); return nil })
		receiver = f.limiter.program(false)
	}
	return f, f.attach(receiver)
}

// connect makes the namespaces and the pair between them.
func (f *flow) connect() error {
	near, err := netlab.New()
	if err != nil {
		return err
	}
	f.onClose(near.Close)
	far, err := netlab.New()
	if err != nil {
		return err
	}
	f.onClose(far.Close)
	f.pair, err = netlab.NewPair(near, far, netlab.PairOptions{})
	if err != nil {
		return err
	}
	f.onClose(f.pair.Close)
	return nil
}

func (f *flow) attach(program *ebpf.Program) error {
	far := f.pair.Far
	return far.Namespace.Do(func() error {
		l, err := link.AttachXDP(link.XDPOptions{
			Program: program, Interface: far.Index, Flags: link.XDPDriverMode,
		})
		if err != nil {
			return fmt.Errorf("attach: %w", err)
		}
		f.onClose(l.Close)
		return nil
	})
}

// run sends so many packets, and returns how many a second arrive.
func (f *flow) run(packets int) (float64, error) {
	before, err := f.received()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	err = f.pair.Near.Namespace.Do(func() error {
		_, err := f.generator.Run(&ebpf.RunOptions{
			Data: f.frame, Repeat: uint32(packets), Flags: unix.BPF_F_TEST_XDP_LIVE_FRAMES,
		})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("%s: send: %w", f.target.name, err)
	}
	elapsed := time.Since(start)
	after, err := f.received()
	if err != nil {
		return 0, err
	}
	if after == before {
		return 0, fmt.Errorf("%s: no packet arrived", f.target.name)
	}
	return float64(after-before) / elapsed.Seconds(), nil
}

// received returns how many packets the program at the far end has got.
func (f *flow) received() (packets uint64, err error) {
	far := f.pair.Far
	err = far.Namespace.Do(func() error {
		l, err := netlink.LinkByIndex(far.Index)
		if err != nil {
			return fmt.Errorf("count what arrived: %w", err)
		}
		packets = l.Attrs().Statistics.RxPackets
		return nil
	})
	return packets, err
}

func (f *flow) onClose(fn func() error) { f.closers = append(f.closers, fn) }

// close undoes everything, the latest first.
func (f *flow) close() error {
	var errs []error
	for _, fn := range slices.Backward(f.closers) {
		errs = append(errs, fn())
	}
	return errors.Join(errs...)
}
