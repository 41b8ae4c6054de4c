//go:build linux

package netlab_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/netlab/netlabtest"
	"github.com/headgate/headgate/test/packet"
)

var (
	four = netip.MustParseAddr("203.0.113.7")
	six  = netip.MustParseAddr("2001:db8::7")
)

type counts = netlab.Counts[netip.Addr]

// link returns a sender and a counter at the two ends of a new pair.
func link(t *testing.T, o netlab.PairOptions) (*netlab.Pair, *netlab.Sender, *netlab.Counter[netip.Addr]) {
	t.Helper()
	pair := netlabtest.Pair(t, o)
	return pair, netlabtest.Sender(t, pair.Near), netlabtest.Counter(t, pair.Far, packet.Source)
}

func TestExactCount(t *testing.T) {
	eth, udp := packet.Ethernet{}, packet.UDP{Dst: 53}
	tests := []struct {
		name  string
		o     netlab.PairOptions
		frame []byte
		n     int
		want  counts
	}{
		{"10,000 small frames", netlab.PairOptions{}, packet.UDPFrame("203.0.113.7", "192.0.2.1", 53, 18), 10_000,
			counts{four: {Packets: 10_000, Bytes: 10_000 * 60}}},
		{"IPv6", netlab.PairOptions{}, packet.UDPFrame("2001:db8::7", "2001:db8::1", 53, 0), 1000,
			counts{six: {Packets: 1000, Bytes: 1000 * 62}}},
		{"as large as the MTU", netlab.PairOptions{MTU: 9000}, packet.UDPFrame("203.0.113.7", "192.0.2.1", 53, 8972), 1000,
			counts{four: {Packets: 1000, Bytes: 1000 * 9014}}},
		{"tagged", netlab.PairOptions{}, packet.Build(eth, packet.VLAN{ID: 7}, packet.IPv4{Src: four}, udp), 1000,
			counts{four: {Packets: 1000, Bytes: 1000 * 46}}},
		{"tagged twice", netlab.PairOptions{}, packet.Build(eth, packet.VLAN{ID: 1, TPID: 0x88a8}, packet.VLAN{ID: 2}, packet.IPv6{Src: six}, udp), 10,
			counts{six: {Packets: 10, Bytes: 10 * 70}}},
		{"not classified", netlab.PairOptions{}, packet.Build(eth, packet.ARP{}), 10, counts{}},
		{"none", netlab.PairOptions{}, nil, 0, counts{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, s, c := link(t, tt.o)
			if err := s.SendN(tt.frame, tt.n); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, netlabtest.Exchange(t, s, c)); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestManySources changes the source from frame to frame.
func TestManySources(t *testing.T) {
	_, s, c := link(t, netlab.PairOptions{})
	var frames [][]byte
	want := counts{}
	for i, addr := 0, four; i < 1000; i, addr = i+1, addr.Next() {
		frame := packet.UDPFrame("192.0.2.1", "192.0.2.2", 53, i%100)
		if err := packet.SetSource(frame, addr); err != nil {
			t.Fatal(err)
		}
		frames = append(frames, frame)
		want[addr] = netlab.Count{Packets: 1, Bytes: uint64(len(frame))}
	}
	got := netlabtest.Exchange(t, s, c, frames...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if total := got.Total(); total.Packets != 1000 {
		t.Errorf("total %d packets, want 1000", total.Packets)
	}
}

// TestOnTheWire checks that the classifier sees the bytes that were sent, for
// frames whose tag the kernel takes out in between too.
func TestOnTheWire(t *testing.T) {
	pair := netlabtest.Pair(t, netlab.PairOptions{})
	s := netlabtest.Sender(t, pair.Near)
	c := netlabtest.Counter(t, pair.Far, func(frame []byte) (string, bool) { return string(frame), true })
	want := netlab.Counts[string]{}
	var frames [][]byte
	for _, tags := range [][]packet.Layer{
		nil,
		{packet.VLAN{ID: 4095, Priority: 7}},
		{packet.VLAN{ID: 0}},
		{packet.VLAN{ID: 1, TPID: 0x88a8}, packet.VLAN{ID: 2}},
		{packet.VLAN{ID: 3, EtherType: new(uint16(0x88cc))}},
	} {
		layers := append([]packet.Layer{packet.Ethernet{}}, tags...)
		frame := packet.Build(append(layers, packet.IPv4{}, packet.UDP{}, packet.Payload("data"))...)
		frames = append(frames, frame)
		want[string(frame)] = netlab.Count{Packets: 1, Bytes: uint64(len(frame))}
	}
	if diff := cmp.Diff(want, netlabtest.Exchange(t, s, c, frames...)); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
}

// TestIntervals checks what belongs to which mark.
func TestIntervals(t *testing.T) {
	_, s, c := link(t, netlab.PairOptions{})
	frame := packet.UDPFrame("203.0.113.7", "192.0.2.1", 53, 18)
	var marks []netlab.Mark
	for n := range 4 {
		if err := s.SendN(frame, n+1); err != nil {
			t.Fatal(err)
		}
		mark, err := s.Mark()
		if err != nil {
			t.Fatal(err)
		}
		marks = append(marks, mark)
	}
	// The second mark stands for its own interval and the one before.
	for _, tt := range []struct{ mark, packets int }{{1, 1 + 2}, {2, 3}, {3, 4}} {
		got, err := c.Wait(t.Context(), marks[tt.mark])
		if err != nil {
			t.Fatal(err)
		}
		want := counts{four: {Packets: uint64(tt.packets), Bytes: uint64(tt.packets * 60)}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("mark %d (-want +got):\n%s", tt.mark, diff)
		}
	}
}

// TestOneDirection checks that a counter does not count what its own end sends.
// SendGSO is the way of sending that packet sockets at the same end get to see.
func TestOneDirection(t *testing.T) {
	pair, s, far := link(t, netlab.PairOptions{})
	near := netlabtest.Counter(t, pair.Near, packet.Source)
	if err := s.SendGSO(packet.UDPFrame("203.0.113.7", "192.0.2.1", 53, 2000), 1000); err != nil {
		t.Fatal(err)
	}
	if got := netlabtest.Exchange(t, s, far); got.Total().Packets != 1 {
		t.Errorf("counted %v at the other end, want 1 packet", got)
	}
	if got := netlabtest.Exchange(t, netlabtest.Sender(t, pair.Far), near); len(got) != 0 {
		t.Errorf("counted %v, want nothing", got)
	}
}
