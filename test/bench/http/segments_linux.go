package main

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/packet"
)

// sendSegments has an attacker who is handed down send segments of a connection, each with a request in it, as fast as
// he can. It returns what each took of the server's CPU time.
func (f *front) sendSegments(n int) (time.Duration, error) {
	was, err := f.packets()
	if err != nil {
		return 0, err
	}
	each, err := f.timeSegments(f.pids(), n)
	if err != nil {
		return 0, err
	}
	is, err := f.packets()
	if got := is.minus(was); err == nil && got.dropped != n+got.beside {
		err = fmt.Errorf("the kernel dropped %d packets, of %d segments and %d packets beside", got.dropped, n, got.beside)
	}
	return each, err
}

// timeSegments sends them, waits until all are received, and measures the CPU time of some processes meanwhile.
func (l *lab) timeSegments(pids []int, n int) (each time.Duration, err error) {
	sender, err := netlab.NewSender(l.attack.Near)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, sender.Close()) }()
	before, errFrames := l.receivedFrames()
	began, errClock := cpuTime(pids...)
	if err := errors.Join(errFrames, errClock, sender.SendN(l.segment(), n)); err != nil {
		return 0, err
	}
	err = await(l.ctx, "all segments are received", func() (bool, error) {
		now, err := l.receivedFrames()
		return now-before >= n, err
	})
	ended, errClock := cpuTime(pids...)
	return (ended - began) / time.Duration(n), errors.Join(err, errClock)
}

// segment returns a frame with a segment that has a request in it.
func (l *lab) segment() []byte {
	from, to := netip.MustParseAddr(attackerAddr), netip.MustParseAddr(attackedAddr)
	return packet.Build(
		packet.Ethernet{Src: l.attack.Near.MAC, Dst: l.attack.Far.MAC},
		packet.IPv4{Src: from, Dst: to},
		packet.TCP{Src: 40000, Dst: 80, Flags: packet.PSH | packet.ACK},
		packet.Payload(requestFor(attackedAddr, limitedPath)),
	)
}
