package main

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/packet"
)

// sendSegments has an attacker who is handed down send segments of a connection, each with a request in it, as fast as
// he can. It returns what each took of the server's CPU, in ns.
func (f *front) sendSegments(n int) (ns float64, err error) {
	before, err := f.packets()
	if err != nil {
		return 0, err
	}
	sender, err := netlab.NewSender(f.attack.Near)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, sender.Close()) }()
	began, err := cpuTime(f.pids()...)
	if err != nil {
		return 0, err
	}
	if err := sender.SendN(f.segment(), n); err != nil {
		return 0, err
	}
	// What is still on its way is counted soon.
	err = await(f.ctx, "all segments are dropped", func() (bool, error) {
		is, err := f.packets()
		return is.dropped-before.dropped >= n, err
	})
	if err != nil {
		return 0, err
	}
	ended, err := cpuTime(f.pids()...)
	if err != nil {
		return 0, err
	}
	is, err := f.packets()
	if got := is.dropped - before.dropped; err == nil && got != n {
		err = fmt.Errorf("the kernel dropped %d of %d segments", got, n)
	}
	return float64((ended - began).Nanoseconds()) / float64(n), err
}

// segment returns a frame with a segment that has a request in it.
func (f *front) segment() []byte {
	from, to := netip.MustParseAddr(attackerAddr), netip.MustParseAddr(attackedAddr)
	return packet.Build(
		packet.Ethernet{Src: f.attack.Near.MAC, Dst: f.attack.Far.MAC},
		packet.IPv4{Src: from, Dst: to},
		packet.TCP{Src: 40000, Dst: 80, Flags: packet.PSH | packet.ACK},
		packet.Payload(requestFor(attackedAddr, limitedPath)),
	)
}
