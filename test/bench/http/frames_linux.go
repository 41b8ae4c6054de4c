package main

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/bench/report"
	"github.com/headgate/headgate/test/packet"
)

// sendFrames has an attacker who is handed down send SYNs, and requests on connections that he had. It returns what each
// took of the server's CPU time.
func (f *front) sendFrames(n int) (took report.Frames, err error) {
	was, errPackets := f.packets()
	before, errFrames := f.receivedFrames()
	if err := errors.Join(errPackets, errFrames); err != nil {
		return took, err
	}
	if took, err = f.timeFrames(f.pids(), n); err != nil {
		return took, err
	}
	is, errPackets := f.packets()
	after, errFrames := f.receivedFrames()
	// Of what his kernel sends beside, a full queue may lose some.
	if got := is.minus(was).dropped; got != after-before {
		err = fmt.Errorf("the kernel dropped %d of the %d frames that were received", got, after-before)
	}
	return took, errors.Join(errPackets, errFrames, err)
}

// timeFrames sends n frames of each kind as fast as they are taken, and measures the CPU time of some processes for each
// that is received.
func (l *lab) timeFrames(pids []int, n int) (took report.Frames, err error) {
	generator, err := l.newGenerator()
	if err != nil {
		return took, err
	}
	defer generator.Close()
	for _, kind := range []struct {
		frame []byte
		each  *time.Duration
	}{{l.syn(), &took.SYN}, {l.request(), &took.Request}} {
		if *kind.each, err = l.timeRun(generator, kind.frame, pids, n); err != nil {
			return took, err
		}
	}
	return took, nil
}

// timeRun sends n copies of a frame, of which those are lost that come while the queue is full. It returns the CPU time of
// some processes for each that is received.
func (l *lab) timeRun(generator *ebpf.Program, frame []byte, pids []int, n int) (time.Duration, error) {
	before, errFrames := l.receivedFrames()
	began, errClock := cpuTime(pids...)
	if err := errors.Join(errFrames, errClock); err != nil {
		return 0, err
	}
	err := l.attacker.Do(func() error {
		_, err := generator.Run(&ebpf.RunOptions{
			Data: frame, Repeat: uint32(n), Flags: unix.BPF_F_TEST_XDP_LIVE_FRAMES,
		})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("send frames: %w", err)
	}
	received := 0
	err = await(l.ctx, "all frames are received", func() (bool, error) {
		last := received
		now, err := l.receivedFrames()
		received = now - before
		return received > 0 && received == last, err
	})
	ended, errClock := cpuTime(pids...)
	return (ended - began) / time.Duration(max(received, 1)), errors.Join(err, errClock)
}

// newGenerator returns a program that sends what it is given to the server, in frames as the drivers of network cards have
// them: a page that no socket owns, and that nobody has to copy. Its namespace is the attacker's.
func (l *lab) newGenerator() (*ebpf.Program, error) {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "send", Type: ebpf.XDP, License: "GPL",
		Instructions: asm.Instructions{
			asm.Mov.Imm(asm.R1, int32(l.attack.Near.Index)),
			asm.Mov.Imm(asm.R2, 0),
			asm.FnRedirect.Call(),
			asm.Return(),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("load a program that sends: %w", err)
	}
	return p, nil
}

// syn returns a frame that attempts to open a connection.
func (l *lab) syn() []byte { return l.frame(packet.SYN) }

// request returns a frame with a segment that has a request in it.
func (l *lab) request() []byte {
	return l.frame(packet.PSH|packet.ACK, packet.Payload(requestFor(attackedAddr, limitedPath)))
}

// frame returns one of TCP from the attacker.
func (l *lab) frame(flags packet.TCPFlags, payload ...packet.Layer) []byte {
	from, to := netip.MustParseAddr(attackerAddr), netip.MustParseAddr(attackedAddr)
	return packet.PadTo(packet.Build(append([]packet.Layer{
		packet.Ethernet{Src: l.attack.Near.MAC, Dst: l.attack.Far.MAC},
		packet.IPv4{Src: from, Dst: to},
		packet.TCP{Src: 40000, Dst: 80, Flags: flags},
	}, payload...)...), packet.MinFrame)
}
