package packets

import (
	"context"
	"net/netip"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/demo/stage"
	"github.com/headgate/headgate/cmd/headgate/internal/demo/theory"
	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/packet"
)

// backlog is the most that a source with a pace catches up after a stall. What it is behind by more
// it never sends.
const backlog = 20 * time.Millisecond

// traffic sends what the cast sends, and counts what arrives. It is all done by one goroutine, and
// after each tick it waits until all has arrived: that bounds when each packet did.
type traffic struct {
	lab    *lab
	cast   []source
	frames [][][]byte // of each source, one from each of its addresses
	next   []int64    // when the next packet of a source with a pace is due
}

func newTraffic(l *lab, cast []source) *traffic {
	t := &traffic{lab: l, cast: cast, next: make([]int64, len(cast))}
	for _, s := range cast {
		t.frames = append(t.frames, framesOf(s))
	}
	return t
}

func framesOf(s source) [][]byte {
	to := "192.0.2.1"
	if s.prefix.Addr().Is6() {
		to = "2001:db8:0:1::1"
	}
	var frames [][]byte
	addr := s.prefix.Addr()
	for range s.addresses {
		frames = append(frames, packet.UDPFrame(addr.String(), to, 53, 18))
		addr = addr.Next()
	}
	return frames
}

// classifier tells which member of the cast a frame is from.
func classifier(cast []source) func([]byte) (int, bool) {
	return func(frame []byte) (int, bool) {
		addr, ok := packet.Source(frame)
		if !ok {
			return 0, false
		}
		return memberAt(cast, addr)
	}
}

func memberAt(cast []source, addr netip.Addr) (int, bool) {
	for n, s := range cast {
		if s.prefix.Contains(addr) {
			return n, true
		}
	}
	return 0, false
}

// start has the sources with a pace begin now.
func (t *traffic) start() {
	now := stage.BootTime()
	for n := range t.next {
		t.next[n] = now
	}
}

// sending is what a source sent in a tick, and when it began to.
type sending struct {
	packets int
	start   int64
}

// tick sends what is due and takes it down in the records, one for each member of the cast. What
// comes from the flooder before blockedUntil is blocked.
func (t *traffic) tick(ctx context.Context, records []*record, blockedUntil int64) error {
	sendings := make([]sending, len(t.cast))
	for n, r := range records {
		start := stage.BootTime()
		packets := t.due(n, r, start)
		sendings[n] = sending{packets, start}
		if err := t.send(n, packets); err != nil {
			return err
		}
	}
	arrived, err := netlab.Exchange(ctx, t.lab.sender, t.lab.counter)
	if err != nil {
		return err
	}
	w := theory.Window{End: stage.BootTime()}
	for n, r := range records {
		sent := sendings[n].packets
		w.Start = sendings[n].start
		least, most := sent, sent
		if n == flooder {
			least, most = unblocked(sent, w, blockedUntil)
		}
		r.note(sent, least, most, arrived[n].Packets, w)
	}
	return nil
}

// unblocked returns how many of the packets in a window a block until then lets go on at least and at
// most.
func unblocked(packets int, w theory.Window, until int64) (least, most int) {
	slack := theory.ClockError.Nanoseconds()
	switch {
	case w.Start-slack >= until:
		return packets, packets
	case w.End+slack >= until:
		return 0, packets
	default:
		return 0, 0
	}
}

// due returns how many packets a source sends now. One with a pace never sends what might be over
// its limit: that it loses nothing is not to depend on how punctual this process is.
func (t *traffic) due(n int, r *record, now int64) int {
	s := t.cast[n]
	if s.every == 0 {
		return s.perTick
	}
	t.next[n] = max(t.next[n], now-backlog.Nanoseconds())
	packets := max(0, int((now-t.next[n])/s.every.Nanoseconds()))
	if r.theory != nil {
		packets = min(packets, r.theory.Room(now))
	}
	t.next[n] += int64(packets) * s.every.Nanoseconds()
	return packets
}

// send sends packets of a source, from all its addresses in turn.
func (t *traffic) send(n, packets int) error {
	frames := t.frames[n]
	if len(frames) == 1 {
		return t.lab.sender.SendN(frames[0], packets)
	}
	for packets > 0 {
		some := min(packets, len(frames))
		if err := t.lab.sender.Send(frames[:some]...); err != nil {
			return err
		}
		packets -= some
	}
	return nil
}
