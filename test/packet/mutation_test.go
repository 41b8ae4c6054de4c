package packet_test

import (
	"net/netip"
	"testing"

	"github.com/headgate/headgate/test/packet"
)

// TestMutations checks that each override changes the bytes it is about and
// the checksums over them, and nothing else.
func TestMutations(t *testing.T) {
	valid4 := []packet.Layer{packet.Ethernet{}, packet.IPv4{}, packet.UDP{}, packet.Zeros(4)}
	valid6 := []packet.Layer{packet.Ethernet{}, packet.IPv6{}, packet.TCP{}, packet.Zeros(4)}
	hop := []packet.Layer{packet.IPv6{}, packet.HopByHop{}}
	tests := []struct {
		name  string
		valid []packet.Layer
		at    int
		with  packet.Layer
		want  map[int]byte // by offset; checksums excluded
		sums  []int
	}{
		{"EtherType", valid4, 0, packet.Ethernet{EtherType: new(uint16(0x88cc))}, map[int]byte{12: 0x88, 13: 0xcc}, nil},
		{"IPv4 version", valid4, 1, packet.IPv4{Version: new(uint8(6))}, map[int]byte{14: 0x65}, []int{24}},
		{"IHL", valid4, 1, packet.IPv4{IHL: new(uint8(4))}, map[int]byte{14: 0x44}, []int{24}},
		{"TotalLen", valid4, 1, packet.IPv4{TotalLen: new(uint16(0xffff))}, map[int]byte{16: 0xff, 17: 0xff}, []int{24}},
		{"fragment", valid4, 1, packet.IPv4{FragOff: 0x1fff, MoreFragments: true}, map[int]byte{20: 0x3f, 21: 0xff}, []int{24}},
		{"Proto", valid4, 1, packet.IPv4{Proto: new(uint8(6))}, map[int]byte{23: 6}, []int{24}},
		{"header checksum", valid4, 1, packet.IPv4{HeaderChecksum: new(uint16(1))}, map[int]byte{24: 0, 25: 1}, nil},
		{"UDP length", valid4, 2, packet.UDP{Length: new(uint16(7))}, map[int]byte{38: 0, 39: 7}, []int{40}},
		{"UDP checksum", valid4, 2, packet.UDP{Checksum: new(uint16(0))}, map[int]byte{40: 0, 41: 0}, nil},
		{"IPv6 version", valid6, 1, packet.IPv6{Version: new(uint8(4))}, map[int]byte{14: 0x40}, nil},
		{"PayloadLen", valid6, 1, packet.IPv6{PayloadLen: new(uint16(0))}, map[int]byte{18: 0, 19: 0}, nil},
		{"NextHeader", valid6, 1, packet.IPv6{NextHeader: new(uint8(0))}, map[int]byte{20: 0}, nil},
		{"data offset", valid6, 2, packet.TCP{DataOffset: new(uint8(15))}, map[int]byte{66: 0xf0}, []int{70}},
		{"HdrLen", hop, 1, packet.HopByHop{HdrLen: new(uint8(255))}, map[int]byte{41: 255}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := packet.Build(tt.valid...)
			mutated := append([]packet.Layer{}, tt.valid...)
			mutated[tt.at] = tt.with
			got := packet.Build(mutated...)
			for offset, b := range tt.want {
				want[offset] = b
			}
			for _, offset := range tt.sums {
				copy(want[offset:offset+2], got[offset:])
			}
			if string(got) != string(want) {
				t.Errorf("got  % x\nwant % x", got, want)
			}
		})
	}
}

func TestLengths(t *testing.T) {
	tests := []struct {
		name  string
		frame []byte
		want  int
	}{
		{"UDP over IPv4", packet.UDPFrame("192.0.2.9", "198.51.100.1", 53, 100), 14 + 20 + 8 + 100},
		{"UDP over IPv6", packet.UDPFrame("2001:db8::9", "2001:db8::1", 53, 100), 14 + 40 + 8 + 100},
		{"TCP over IPv4", packet.TCPFrame("192.0.2.9", "198.51.100.1", 80, packet.SYN), 14 + 20 + 20},
		{"padded", packet.PadTo(packet.TCPFrame("192.0.2.9", "198.51.100.1", 80, packet.SYN), packet.MinFrame), 60},
		{"long enough", packet.PadTo(make([]byte, 61), packet.MinFrame), 61},
		{"nothing", packet.Build(), 0},
		{"IPv4 options", packet.Build(packet.IPv4{Options: []byte{1, 1, 1, 1, 1}}), 20 + 8},
		{"ICMP", packet.Build(packet.IPv4{}, packet.ICMP{}, packet.Zeros(1)), 20 + 8 + 1},
	}
	for _, tt := range tests {
		if len(tt.frame) != tt.want {
			t.Errorf("%s: %d bytes, want %d", tt.name, len(tt.frame), tt.want)
		}
	}
}

// TestOversize checks that lengths beyond 16 bits are 0, not what is left over
// when the high bits are cut off.
func TestOversize(t *testing.T) {
	four := packet.Build(packet.IPv4{}, packet.Zeros(0x10000))
	six := packet.Build(packet.IPv6{}, packet.Zeros(0x10000))
	jumbo := packet.Build(packet.IPv6{}, packet.HopByHop{Jumbo: 0x10008}, packet.Zeros(8))
	for name, field := range map[string][]byte{"IPv4": four[2:4], "IPv6": six[4:6], "jumbo option": jumbo[4:6]} {
		if field[0] != 0 || field[1] != 0 {
			t.Errorf("%s: length % x, want 00 00", name, field)
		}
	}
	if got, want := string(jumbo[40:48]), "\xfd\x00\xc2\x04\x00\x01\x00\x08"; got != want {
		t.Errorf("jumbo header % x, want % x", got, want)
	}
}

// TestWrongFamily is about calling code, so it expects the documented panic.
func TestWrongFamily(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an IPv6 address in an IPv4 layer did not panic")
		}
	}()
	packet.Build(packet.IPv4{Src: netip.MustParseAddr("2001:db8::1")})
}

// TestUDPChecksumOfZero makes the sum come out as 0 by putting the checksum of
// the same packet with two zeros into their place.
func TestUDPChecksumOfZero(t *testing.T) {
	const field, data = 20 + 6, 20 + 8
	frame := packet.Build(packet.IPv4{}, packet.UDP{}, packet.Zeros(data-field))
	frame = packet.Build(packet.IPv4{}, packet.UDP{}, packet.Payload(frame[field:data]))
	if frame[field] != 0xff || frame[field+1] != 0xff {
		t.Errorf("checksum % x, want ff ff", frame[field:data])
	}
}
