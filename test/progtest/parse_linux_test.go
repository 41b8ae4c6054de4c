package progtest_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/test/packet"
	"github.com/headgate/headgate/test/progtest"
)

// The reference parser is held against frames whose content is known, as all else is held
// against it.
func TestParse(t *testing.T) {
	source := netip.MustParseAddr("203.0.113.1")
	eth := packet.Ethernet{}
	tests := []struct {
		name  string
		frame []byte
		want  progtest.Packet
	}{
		{"SYN", packet.TCPFrame("203.0.113.1", "192.0.2.1", 80, packet.SYN),
			progtest.Packet{Limited: true, Source: source, Length: 40, Proto: 6, HasPorts: true, SrcPort: 40000, DstPort: 80, SYN: true}},
		{"SYN+ACK", packet.TCPFrame("203.0.113.1", "192.0.2.1", 80, packet.SYN|packet.ACK),
			progtest.Packet{Limited: true, Source: source, Length: 40, Proto: 6, HasPorts: true, SrcPort: 40000, DstPort: 80}},
		{"padded", packet.PadTo(packet.UDPFrame("203.0.113.1", "192.0.2.1", 53, 1), 60),
			progtest.Packet{Limited: true, Source: source, Length: 29, Proto: 17, HasPorts: true, SrcPort: 40000, DstPort: 53}},
		{"mapped behind extensions", packet.Build(eth, packet.VLAN{}, packet.IPv6{Src: source}, packet.HopByHop{}, packet.UDP{Src: 1, Dst: 2}),
			progtest.Packet{Limited: true, Source: source, Length: 56, Proto: 17, HasPorts: true, SrcPort: 1, DstPort: 2}},
		{"later fragment", packet.Build(eth, packet.IPv4{Src: source, FragOff: 1, Proto: new(uint8(17))}, packet.Zeros(8)),
			progtest.Packet{Limited: true, Source: source, Length: 28, Proto: 17}},
		{"ARP", packet.Build(eth, packet.ARP{}), progtest.Packet{Reason: bpf.ReasonNotIP, Length: 28}},
		{"neighbour solicitation", packet.Build(eth, packet.IPv6{HopLimit: 255}, packet.ICMPv6{Type: 135}),
			progtest.Packet{Reason: bpf.ReasonNeighbourDiscovery, Length: 48}},
		{"ihl 4", packet.Build(eth, packet.IPv4{IHL: new(uint8(4))}), progtest.Packet{Reason: bpf.ReasonMalformed, Length: 20}},
		{"nothing", nil, progtest.Packet{Reason: bpf.ReasonMalformed}},
	}
	sameAddr := cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, progtest.Parse(tt.frame), sameAddr); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
