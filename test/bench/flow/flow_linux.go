package flow

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/bench/bpf"
	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/packet"
)

// Options say what frames are like: UDP in IPv4, of the least length, with valid checksums.
type Options struct {
	FirstSource uint32 // in host byte order
	Sources     uint64 // addresses from FirstSource on, one of them at random for each frame
	Port        uint16 // the destination's
}

// Flow is a veth pair between two namespaces, with a program that makes frames at the near end.
type Flow struct {
	Pair *netlab.Pair
	// Programs are those of the benchmark, to receive with.
	Programs map[string]*ebpf.Program

	frame   []byte
	closers []func() error
}

// Arrived is what one run has brought to the far end.
type Arrived struct {
	Packets uint64
	Elapsed time.Duration
}

// PerSecond returns packets per second.
func (a Arrived) PerSecond() float64 { return float64(a.Packets) / a.Elapsed.Seconds() }

// Open makes the namespaces, the pair between them and the generator. It needs root.
func Open(o Options) (_ *Flow, err error) {
	f := &Flow{}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	if err := f.connect(); err != nil {
		return nil, err
	}
	coll, err := bpf.Open(map[string]any{
		bpf.VarFirstSource: o.FirstSource,
		bpf.VarSources:     o.Sources,
		bpf.VarOutIfindex:  uint32(f.Pair.Near.Index),
	})
	if err != nil {
		return nil, err
	}
	f.onClose(func() error { coll.Close(); return nil })
	f.Programs = coll.Programs
	f.frame = packet.PadTo(packet.Build(
		packet.Ethernet{Src: f.Pair.Near.MAC, Dst: f.Pair.Far.MAC}, packet.IPv4{}, packet.UDP{Dst: o.Port},
	), packet.MinFrame)
	return f, nil
}

// connect makes the namespaces and the pair between them.
func (f *Flow) connect() error {
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
	f.Pair, err = netlab.NewPair(near, far, netlab.PairOptions{})
	if err != nil {
		return err
	}
	f.onClose(f.Pair.Close)
	return nil
}

// Receive has a program receive the frames, in native mode, until the flow is closed. Without one veth takes no frames
// of this kind.
func (f *Flow) Receive(program *ebpf.Program) error {
	far := f.Pair.Far
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

// Run sends so many packets, of which some must arrive.
func (f *Flow) Run(packets int) (Arrived, error) {
	before, err := f.received()
	if err != nil {
		return Arrived{}, err
	}
	start := time.Now()
	err = f.Pair.Near.Namespace.Do(func() error {
		_, err := f.Programs[bpf.Generate].Run(&ebpf.RunOptions{
			Data: f.frame, Repeat: uint32(packets), Flags: unix.BPF_F_TEST_XDP_LIVE_FRAMES,
		})
		return err
	})
	if err != nil {
		return Arrived{}, fmt.Errorf("send: %w", err)
	}
	elapsed := time.Since(start)
	after, err := f.received()
	if err != nil {
		return Arrived{}, err
	}
	if after == before {
		return Arrived{}, errors.New("no packet arrived")
	}
	return Arrived{Packets: after - before, Elapsed: elapsed}, nil
}

// received returns how many packets the program at the far end has got.
func (f *Flow) received() (packets uint64, err error) {
	far := f.Pair.Far
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

func (f *Flow) onClose(fn func() error) { f.closers = append(f.closers, fn) }

// Close undoes everything, the latest first.
func (f *Flow) Close() error {
	var errs []error
	for _, fn := range slices.Backward(f.closers) {
		errs = append(errs, fn())
	}
	return errors.Join(errs...)
}
