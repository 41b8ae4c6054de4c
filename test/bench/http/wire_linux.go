package main

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"

	"github.com/headgate/headgate/test/bench/report"
)

// measureWire measures what packets cost that are dropped by a program that does nothing else: by the driver of the
// interface, which on a virtual one copies them, and by waking who receives.
func (l *lab) measureWire(p plan) (w report.Wire, err error) {
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "drop", Type: ebpf.XDP, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 1), asm.Return()}, // XDP_DROP
	})
	if err != nil {
		return w, fmt.Errorf("load a program that drops: %w", err)
	}
	defer program.Close()
	var attached link.Link
	err = l.server.Do(func() error { // the index is one of this namespace
		attached, err = link.AttachXDP(link.XDPOptions{Program: program, Interface: l.attack.Far.Index, Flags: link.XDPDriverMode})
		return err
	})
	if err != nil {
		return w, fmt.Errorf("attach a program that drops: %w", err)
	}
	defer func() { err = errors.Join(err, attached.Close()) }()
	before, err := l.receivedFrames()
	if err != nil {
		return w, err
	}
	n, err := l.timeFlood(l.receivers, p.phase, false)
	if err != nil {
		return w, err
	}
	after, err := l.receivedFrames()
	if err != nil {
		return w, err
	}
	n.arrived = after - before
	w.Knock = n.each()
	w.Frames, err = l.timeFrames(l.receivers, p.frames)
	return w, err
}

// receivedFrames returns how many frames the server's interface got from the attacker.
func (l *lab) receivedFrames() (n int, err error) {
	err = l.server.Do(func() error {
		link, err := netlink.LinkByName(l.attack.Far.Name)
		if err == nil {
			n = int(link.Attrs().Statistics.RxPackets)
		}
		return err
	})
	return n, err
}
