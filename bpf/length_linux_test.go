package bpf_test

import (
	"testing"

	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/packet"
	"github.com/headgate/headgate/test/progtest"
)

// What is charged is the IP packet: neither Ethernet's header and tags nor its padding.
func TestCase13ChargedLength(t *testing.T) {
	ip4 := func(n int) []packet.Layer {
		return []packet.Layer{packet.IPv4{}, packet.UDP{}, packet.Zeros(n - 28)}
	}
	ip6 := func(n int) []packet.Layer {
		return []packet.Layer{packet.IPv6{}, packet.UDP{}, packet.Zeros(n - 48)}
	}
	ethernet := func(layers ...packet.Layer) []byte {
		return packet.Build(append([]packet.Layer{packet.Ethernet{}}, layers...)...)
	}
	tests := []struct {
		name  string
		frame []byte
		want  uint64
	}{
		{"64-byte frame", ethernet(ip4(50)...), 50},
		{"padded to the shortest frame", packet.PadTo(ethernet(ip4(28)...), packet.MinFrame), 28},
		{"padded by one", append(ethernet(ip4(100)...), 0), 100},
		{"padded IPv6", packet.PadTo(ethernet(packet.IPv6{}), packet.MinFrame), 40},
		{"IPv6 length 0 behind no options", packet.PadTo(ethernet(packet.IPv6{PayloadLen: new(uint16(0))}), 200), 40},
		{"tagged twice", ethernet(append([]packet.Layer{packet.VLAN{}, packet.VLAN{}}, ip4(100)...)...), 100},
		{"full Ethernet", ethernet(ip4(1500)...), 1500},
		{"full Ethernet IPv6", ethernet(ip6(1500)...), 1500},
		{"largest of one buffer", ethernet(ip4(3400)...), 3400},
		{"9000 bytes in several buffers", ethernet(ip4(9000)...), 9000},
		{"9000 bytes of IPv6", ethernet(ip6(9000)...), 9000},
		{"largest IPv4", ethernet(ip4(65535)...), 65535},
		{"longer than the IPv4 header can say", ethernet(ip4(66000)...), 66000},
		{"longer than the IPv6 header can say", ethernet(ip6(66000)...), 66000},
		{"largest IPv6", ethernet(ip6(40 + 65535)...), 40 + 65535},
		{"jumbogram", ethernet(packet.IPv6{}, packet.HopByHop{Jumbo: 66000 - 40}, packet.UDP{}, packet.Zeros(66000-56)), 66000},
		{"small jumbogram", ethernet(packet.IPv6{}, packet.HopByHop{Jumbo: 116}, packet.UDP{}, packet.Zeros(100)), 156},
	}
	need.Root(t)
	lab := progtest.New(t, progtest.Options{Frags: true})
	lab.SetDefault(progtest.Bytes("400Gbit/s", 1<<32))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := lab.For(t).Run(tt.frame)
			if want := (progtest.Decision{Outcome: underLimit, Length: tt.want}); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// Both programs charge the same where one buffer is enough.
func TestBothProgramsDecideAlike(t *testing.T) {
	need.Root(t)
	for _, frags := range []bool{false, true} {
		lab := progtest.New(t, progtest.Options{Frags: frags})
		lab.SetDefault(progtest.Bytes("1kB/s", 250))
		wantRuns(t, lab, underLimit, udp(alice), udp(alice))
		wantRuns(t, lab, overBytes, udp(alice))
		wantRuns(t, lab, malformed, udp(alice)[:33])
	}
}

// A length field that lies about a frame of several buffers.
func TestCase13TruncatedJumbo(t *testing.T) {
	need.Root(t)
	lab := progtest.New(t, progtest.Options{Frags: true})
	frame := packet.Build(packet.Ethernet{}, packet.IPv4{}, packet.UDP{}, packet.Zeros(9000))
	wantRuns(t, lab, noPolicy, frame)
	wantRuns(t, lab, malformed, frame[:len(frame)-1])
}

// A limit in bytes is exact to the byte, and counts what is at the end of it.
func TestCase13ByteLimitToTheByte(t *testing.T) {
	tests := []struct {
		name      string
		bandwidth string
		burst     uint64
		sizes     []int
		last      int // does not fit, and one byte less does
	}{
		{"slow", "1B/s", 200, []int{100}, 101},
		{"exactly one packet", "1MB/s", 100, []int{}, 101},
		{"mixed", "100Mbit/s", 1 << 20, []int{1500, 28, 577}, 0},
		{"100 Gbit/s", "100Gbit/s", 10000, []int{1500, 1500, 1500, 1500, 1500, 1500}, 1001},
		{"fraction of a ns for each byte", "400Gbit/s", 3000, []int{1499, 1400}, 102},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lab := newLab(t)
			lab.SetDefault(progtest.Bytes(tt.bandwidth, tt.burst))
			for _, size := range tt.sizes {
				wantRuns(t, lab, underLimit, packet.UDPFrame(alice, dst4, 1, size-28))
			}
			if tt.last > 0 {
				wantRuns(t, lab, overBytes, packet.UDPFrame(alice, dst4, 1, tt.last-28))
				wantRuns(t, lab, underLimit, packet.UDPFrame(alice, dst4, 1, tt.last-1-28))
				wantRuns(t, lab, overBytes, packet.Build(packet.Ethernet{}, packet.IPv4{Src: addr(alice)}))
			}
		})
	}
}

// No sum is kept in 32 bits: 64 KiB packets get there quickly.
func TestCase13BytesBeyond32Bits(t *testing.T) {
	const packets, length = 70000, 65535
	need.Root(t)
	lab := progtest.New(t, progtest.Options{Frags: true})
	lab.SetDefault(progtest.Bytes("400Gbit/s", packets*length))
	frame := packet.Build(packet.Ethernet{}, packet.IPv4{Src: addr(alice)}, packet.UDP{}, packet.Zeros(length-28))

	got := lab.RunN(frame, packets+3)
	wantCounts(t, got, counts(length, map[progtest.Outcome]int{underLimit: packets, overBytes: 3}))
	want := statmap.Slot{
		Pass: statmap.Counter{Packets: packets, Bytes: packets * length},
		Drop: statmap.Counter{Packets: 3, Bytes: 3 * length},
	}
	if got := lab.Counted("default"); got != want {
		t.Errorf("policy: %+v, want %+v", got, want)
	}
	key := progtest.SourceKey{Addr: addr(alice), PolicyID: lab.PolicyID("default")}
	if got := sources(t, lab)[key]; got != want {
		t.Errorf("source: %+v, want %+v", got, want)
	}
}
