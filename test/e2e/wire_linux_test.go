package e2e_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/packet"
)

// TestShapes sends one source in many shapes: all of them together get its burst, in both modes.
func TestShapes(t *testing.T) {
	eth, dns, more := packet.Ethernet{}, packet.UDP{Dst: 53}, packet.Zeros(40)
	tag, service := packet.VLAN{ID: 7}, packet.VLAN{ID: 8, TPID: 0x88a8}
	four, six := packet.IPv4{Src: addr(flooder)}, packet.IPv6{Src: addr("2001:db8:1:2::3")}
	same64 := packet.IPv6{Src: addr("2001:db8:1:2:ffff::9")}
	udpProto := new(uint8(17))
	tests := []struct {
		name   string
		frames [][]byte
	}{
		{"IPv4", [][]byte{
			packet.Build(eth, four, dns),
			packet.Build(eth, tag, four, dns),
			packet.Build(eth, service, tag, four, dns),
			packet.Build(eth, packet.IPv4{Src: addr(flooder), MoreFragments: true}, dns, more),
			packet.Build(eth, packet.IPv4{Src: addr(flooder), FragOff: 185, Proto: udpProto}, more),
			packet.Build(eth, packet.IPv4{Src: addr(flooder), Options: make([]byte, 40)}, dns),
			packet.Build(eth, four, packet.TCP{Flags: packet.SYN}),
		}},
		{"IPv6", [][]byte{
			packet.Build(eth, six, dns),
			packet.Build(eth, same64, dns),
			packet.Build(eth, tag, same64, packet.HopByHop{}, dns),
			packet.Build(eth, service, tag, six, dns),
			packet.Build(eth, six, packet.HopByHop{}, packet.DestOptions{}, packet.Fragment{More: true}, dns),
			packet.Build(eth, six, packet.Fragment{Offset: 185, NextHeader: udpProto}, more),
			packet.Build(eth, six, packet.AuthHeader{}, packet.TCP{Flags: packet.SYN}),
		}},
	}
	for _, mode := range []string{"native", "generic"} {
		for _, tt := range tests {
			t.Run(mode+" "+tt.name, func(t *testing.T) {
				l := newLab(t)
				l.attach("--mode", mode, "--rate", never, "--burst", "20")
				// Each shape passes while there is room: none is lost for another reason.
				for n := range 2 {
					if got := l.exchange(tt.frames...).Total().Packets; got != uint64(len(tt.frames)) {
						t.Errorf("round %d: %d of %d shapes passed", n+1, got, len(tt.frames))
					}
				}
				want := uint64(20 - 2*len(tt.frames))
				if got := l.exchange(tt.frames...).Total().Packets; got != want {
					t.Errorf("%d packets passed of the last round, want %d", got, want)
				}
				if got := l.exchange(tt.frames...).Total().Packets; got != 0 {
					t.Errorf("%d packets passed over the limit", got)
				}
			})
		}
	}
}

// TestNeverLimited sends what must always pass, from a source that is blocked where it has one.
func TestNeverLimited(t *testing.T) {
	l := newLab(t)
	l.attach("--rate", never, "--burst", "1")
	l.must("block", "0.0.0.0/0", "::/0")
	pair := l.pair
	counter, err := netlab.NewCounter(pair.Far, func([]byte) (string, bool) { return "", true })
	if err != nil {
		t.Fatal(err)
	}
	defer counter.Close()
	frames := [][]byte{
		packet.Build(packet.Ethernet{}, packet.ARP{}),
		packet.Build(packet.Ethernet{EtherType: new(uint16(0x88cc))}, packet.Zeros(46)),
		packet.Build(packet.Ethernet{}, packet.IPv6{HopLimit: 255}, packet.ICMPv6{Type: 135}),
		packet.Build(packet.Ethernet{}, packet.IPv6{HopLimit: 255}, packet.ICMPv6{Type: 136}),
	}
	all, err := netlab.Exchange(t.Context(), l.sender, counter, append(frames, udp(flooder))...)
	if err != nil {
		t.Fatal(err)
	}
	if got := all.Total().Packets; got != uint64(len(frames)) {
		t.Errorf("%d packets passed, want %d", got, len(frames))
	}
}

// TestJumbo has headgate find out by itself that frames come in several buffers.
func TestJumbo(t *testing.T) {
	for mtu, frags := range map[int]bool{1500: false, 9000: true} {
		l := newLabWith(t, netlab.PairOptions{MTU: mtu})
		l.attach("--rate", never, "--burst", "3")
		want := interfaceJSON{Name: l.dev(), Index: l.pair.Far.Index, Mode: "native", Frags: frags, Up: true, ProgramID: l.programID()}
		if diff := cmp.Diff([]interfaceJSON{want}, l.status().Interfaces); diff != "" {
			t.Errorf("MTU %d: interfaces (-want +got):\n%s", mtu, diff)
		}
		l.wantPassed(packet.UDPFrame(flooder, target, 53, mtu-28), 5, 3)
		if got, want := l.stats().Policies[0].Drop, (packets{2, 2 * uint64(mtu)}); got != want {
			t.Errorf("MTU %d: dropped %+v, want %+v", mtu, got, want)
		}
	}
}

// TestSuperPacket documents what is counted of packets that were merged before they come to the
// program: in generic mode one packet with all bytes, in native mode each for itself.
func TestSuperPacket(t *testing.T) {
	const data, segments, headers = 10_000, 10, 40
	super := packet.Build(packet.Ethernet{}, packet.IPv4{Src: addr(flooder)}, packet.TCP{Flags: packet.ACK}, packet.Zeros(data))
	for mode, want := range map[string]packets{
		"generic": {1, data + headers},
		"native":  {segments, data + segments*headers},
	} {
		l := newLab(t)
		r := l.attach("--mode", mode, "--bandwidth", "1MB/s")
		if mode == "generic" {
			r.wantNote(t, "in generic mode the kernel may have merged packets (GRO)")
		}
		if err := l.pair.Far.SetGRO(false); err != nil {
			t.Fatal(err)
		}
		if err := l.sender.SendGSO(super, data/segments); err != nil {
			t.Fatal(err)
		}
		if got := l.exchange().Total().Packets; got != want.Packets {
			t.Errorf("%s: %d packets arrived, want %d", mode, got, want.Packets)
		}
		if got := l.stats().Policies[0].Pass; got != want {
			t.Errorf("%s: %+v counted, want %+v", mode, got, want)
		}
	}
}
