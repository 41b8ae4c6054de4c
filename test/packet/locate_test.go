package packet_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/headgate/headgate/test/packet"
)

func TestSource(t *testing.T) {
	four, six := netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("2001:db8::7")
	eth, tag := packet.Ethernet{}, packet.VLAN{ID: 1}
	tests := []struct {
		name  string
		frame []byte
		want  netip.Addr // zero: none
	}{
		{"IPv4", packet.Build(eth, packet.IPv4{Src: four}), four},
		{"IPv6", packet.Build(eth, packet.IPv6{Src: six}), six},
		{"one tag", packet.Build(eth, tag, packet.IPv4{Src: four}), four},
		{"two tags", packet.Build(eth, packet.VLAN{TPID: 0x88a8}, tag, packet.IPv6{Src: six}), six},
		{"three tags", packet.Build(eth, tag, tag, tag, packet.IPv4{Src: four}), netip.Addr{}},
		{"options", packet.Build(eth, packet.IPv4{Src: four, Options: []byte{1}}), four},
		{"ARP", packet.Build(eth, packet.ARP{}), netip.Addr{}},
		{"IHL below 5", packet.Build(eth, packet.IPv4{IHL: new(uint8(4))}), netip.Addr{}},
		{"IHL beyond the end", packet.Build(eth, packet.IPv4{IHL: new(uint8(6))}), netip.Addr{}},
		{"IPv4 version", packet.Build(eth, packet.IPv4{Version: new(uint8(5))}), netip.Addr{}},
		{"IPv6 version", packet.Build(eth, packet.IPv6{Version: new(uint8(4))}), netip.Addr{}},
	}
	for _, tt := range tests {
		got, ok := packet.Source(tt.frame)
		if got != tt.want || ok != tt.want.IsValid() {
			t.Errorf("%s: %v, %v; want %v", tt.name, got, ok, tt.want)
		}
	}
}

// TestTruncated runs everything that reads frames over every prefix of one.
func TestTruncated(t *testing.T) {
	for _, network := range []packet.Layer{packet.IPv4{Options: []byte{1}}, packet.IPv6{}} {
		for _, upper := range []packet.Layer{packet.TCP{}, packet.UDP{}, packet.ICMPv6{}} {
			whole := packet.Build(packet.Ethernet{}, packet.VLAN{}, network, upper)
			for n := range whole {
				frame := whole[:n:n]
				addr, ok := packet.Source(frame)
				if err := packet.SetSource(frame, addr); (err == nil) != ok {
					t.Errorf("%T %T %d bytes: source found: %v, SetSource: %v", network, upper, n, ok, err)
				}
				if _, err := packet.PrepareOffload(frame); err == nil {
					t.Errorf("%T %T %d bytes: PrepareOffload did not fail", network, upper, n)
				}
			}
		}
	}
}

func TestSetSourceErrors(t *testing.T) {
	four, six := netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("2001:db8::7")
	tests := []struct {
		name  string
		frame []byte
		addr  netip.Addr
		want  string
	}{
		{"no IP", packet.Build(packet.Ethernet{}, packet.ARP{}), four, "no whole IP header"},
		{"other version", packet.UDPFrame("192.0.2.1", "192.0.2.2", 1, 0), six, "frame is IPv4"},
		{"mapped", packet.UDPFrame("192.0.2.1", "192.0.2.2", 1, 0), netip.AddrFrom16(four.As16()), "frame is IPv4"},
		{"zero address", packet.UDPFrame("2001:db8::1", "2001:db8::2", 1, 0), netip.Addr{}, "frame is IPv6"},
	}
	for _, tt := range tests {
		before := string(tt.frame)
		err := packet.SetSource(tt.frame, tt.addr)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.want)
		}
		if string(tt.frame) != before {
			t.Errorf("%s: frame changed although SetSource failed", tt.name)
		}
	}
}

// TestSetSourceWithoutChecksum checks that a UDP checksum of 0, which means
// none, stays 0, and that a later fragment's data is left alone.
func TestSetSourceWithoutChecksum(t *testing.T) {
	udp := packet.UDP{Checksum: new(uint16(0))}
	for name, ip := range map[string]packet.IPv4{"no checksum": {}, "fragment": {FragOff: 1}} {
		frame := packet.Build(packet.Ethernet{}, ip, udp, packet.Zeros(8))
		if err := packet.SetSource(frame, netip.MustParseAddr("203.0.113.7")); err != nil {
			t.Fatal(err)
		}
		if frame[40] != 0 || frame[41] != 0 {
			t.Errorf("%s: checksum % x, want 00 00", name, frame[40:42])
		}
	}
}

func TestSegments(t *testing.T) {
	tcp := packet.Build(packet.Ethernet{}, packet.IPv4{}, packet.TCP{Options: make([]byte, 12)}, packet.Zeros(1001))
	udp := packet.UDPFrame("2001:db8::1", "2001:db8::2", 1, 1000)
	tests := []struct {
		name  string
		frame []byte
		size  int
		want  int
	}{
		{"TCP", tcp, 100, 11},
		{"UDP", udp, 100, 10},
		{"not segmented", udp, 0, 1},
		{"fits", udp, 1000, 1},
		{"no data", packet.TCPFrame("192.0.2.1", "192.0.2.2", 80, packet.SYN), 100, 1},
		{"not IP", packet.Build(packet.Ethernet{}, packet.Zeros(1000)), 100, 1},
		{"other protocol", packet.Build(packet.Ethernet{}, packet.IPv4{}, packet.Zeros(1000)), 100, 1},
	}
	for _, tt := range tests {
		if got := packet.Segments(tt.frame, tt.size); got != tt.want {
			t.Errorf("%s: %d segments, want %d", tt.name, got, tt.want)
		}
	}
}

// TestPrepareOffload finishes the checksum the way a network card does.
func TestPrepareOffload(t *testing.T) {
	for _, frame := range [][]byte{
		packet.Build(packet.Ethernet{}, packet.IPv4{}, packet.TCP{}, packet.Payload("some data")),
		packet.UDPFrame("2001:db8::1", "2001:db8::2", 1, 9),
	} {
		want := string(frame)
		o, err := packet.PrepareOffload(frame)
		if err != nil {
			t.Fatal(err)
		}
		if o.Payload != len(frame)-9 {
			t.Errorf("payload at %d, want %d", o.Payload, len(frame)-9)
		}
		finish(frame[o.Transport:], o.ChecksumField)
		if string(frame) != want {
			t.Errorf("finished frame\n% x, want\n% x", frame, want)
		}
	}
}

func finish(segment []byte, field int) {
	var sum uint32
	for i, b := range segment {
		sum += uint32(b) << (8 * (1 - i%2))
	}
	sum = sum>>16 + sum&0xffff
	sum = ^(sum>>16 + sum)
	segment[field], segment[field+1] = byte(sum>>8), byte(sum)
}
