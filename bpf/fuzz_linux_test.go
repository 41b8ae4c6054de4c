package bpf_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/eventmap"
	"github.com/headgate/headgate/test/packet"
	"github.com/headgate/headgate/test/progtest"
)

// Whatever the frame, the program reads it as the reference parser does, counts it once, leaves
// it as it was, and says to pass or to drop it.
func FuzzFrame(f *testing.F) {
	for _, frame := range fuzzSeeds() {
		f.Add(frame)
	}
	// Every IP packet is dropped, with an event that tells what was read.
	lab := newEventLab(f, progtest.Options{}, 0)
	f.Fuzz(func(t *testing.T, frame []byte) {
		const shortest, longest = 14, 3000 // that the kernel takes for this program
		if len(frame) < shortest || len(frame) > longest {
			t.Skip("no frame for this program")
		}
		lab := lab.For(t)
		want := progtest.Parse(frame)
		if got := lab.Run(frame); got != decisionOf(want) {
			t.Errorf("%v, %d bytes; want %v", got.Outcome, got.Length, decisionOf(want))
		}
		if diff := cmp.Diff(eventsOf(want), lab.Events(), cmp.Comparer(sameAddr), cmp.Transformer("", untimed)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func decisionOf(p progtest.Packet) progtest.Decision {
	outcome := blocked
	switch {
	case p.Limited:
	case p.Reason == bpf.ReasonMalformed:
		outcome = malformed
	default:
		outcome = progtest.Outcome{Verdict: bpf.VerdictPass, Reason: p.Reason}
	}
	return progtest.Decision{Outcome: outcome, Length: uint64(p.Length)}
}

// eventsOf returns the event of a dropped packet, and none of one that passes.
func eventsOf(p progtest.Packet) []eventmap.Event {
	outcome := decisionOf(p).Outcome
	if outcome.Verdict == bpf.VerdictPass {
		return nil
	}
	return []eventmap.Event{{
		Source:     p.Source,
		SourcePort: p.SrcPort,
		DestPort:   p.DstPort,
		Proto:      p.Proto,
		Length:     uint32(p.Length),
		Verdict:    outcome.Verdict,
		Reason:     outcome.Reason,
	}}
}

// timeless is an event without what is not read from the frame.
type timeless eventmap.Event

func untimed(e eventmap.Event) timeless {
	e.Time, e.Ifindex = 0, 0
	return timeless(e)
}

// fuzzSeeds are frames of every shape that the parser knows, whole and cut.
func fuzzSeeds() [][]byte {
	udp := []packet.Layer{packet.UDP{Src: 1000, Dst: 53}, packet.Zeros(4)}
	tcp := []packet.Layer{packet.TCP{Src: 1000, Dst: 80, Flags: packet.SYN, Options: make([]byte, 8)}}
	extensions := []packet.Layer{packet.IPv6{}, packet.HopByHop{}, packet.DestOptions{}, packet.Routing{Data: make([]byte, 20)},
		packet.AuthHeader{ICV: make([]byte, 12)}, packet.Fragment{}}
	shapes := [][]packet.Layer{
		{packet.ARP{}},
		slices.Concat([]packet.Layer{packet.IPv4{}}, udp),
		slices.Concat([]packet.Layer{packet.IPv4{Options: make([]byte, 40)}}, tcp),
		slices.Concat([]packet.Layer{packet.VLAN{TPID: 0x88a8}, packet.VLAN{}, packet.IPv4{}}, udp),
		slices.Concat([]packet.Layer{packet.VLAN{}, packet.VLAN{}, packet.VLAN{}, packet.IPv4{}}, udp),
		{packet.IPv4{FragOff: 185, MoreFragments: true, Proto: new(uint8(6))}, packet.Zeros(20)},
		slices.Concat([]packet.Layer{packet.IPv6{}}, tcp),
		slices.Concat([]packet.Layer{packet.IPv6{Src: addr("::ffff:203.0.113.1")}}, udp),
		slices.Concat(extensions, udp),
		slices.Concat([]packet.Layer{packet.IPv6{}}, slices.Repeat([]packet.Layer{packet.DestOptions{}}, 9), udp),
		{packet.IPv6{}, packet.Fragment{Offset: 185, NextHeader: new(uint8(17))}, packet.Zeros(20)},
		{packet.IPv6{HopLimit: 255}, packet.ICMPv6{Type: 135}, packet.Zeros(16)},
		{packet.IPv6{HopLimit: 255}, packet.HopByHop{}, packet.ICMPv6{Type: 134}},
		slices.Concat([]packet.Layer{packet.IPv6{}, packet.HopByHop{Jumbo: 60}}, udp),
	}
	var frames [][]byte
	for _, layers := range shapes {
		frame := packet.Build(append([]packet.Layer{packet.Ethernet{}}, layers...)...)
		for n := 14; n < len(frame); n += 3 {
			frames = append(frames, frame[:n])
		}
		frames = append(frames, frame, append(slices.Clone(frame), 1, 2, 3))
	}
	return frames
}
