package packet_test

import (
	"encoding/hex"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/test/packet"
)

const ethernet = "020000000002 020000000001 "

// TestGolden compares whole frames with bytes written down by hand from the
// header diagrams in the RFCs.
func TestGolden(t *testing.T) {
	tests := []struct {
		name   string
		layers []packet.Layer
		want   string
	}{{
		// The header in the Wikipedia article "Internet checksum".
		name: "published IPv4 header",
		layers: []packet.Layer{packet.IPv4{
			Src: netip.MustParseAddr("192.168.0.1"), Dst: netip.MustParseAddr("192.168.0.199"),
			DontFragment: true, TotalLen: new(uint16(0x73)), Proto: new(uint8(17)),
		}},
		want: "45000073 00004000 4011b861 c0a80001 c0a800c7",
	}, {
		name:   "UDP over IPv4",
		layers: []packet.Layer{packet.Ethernet{}, packet.IPv4{}, packet.UDP{Src: 0x1234, Dst: 53}, packet.Payload("abc")},
		want: ethernet + "0800" +
			"4500001f 00000000 40118e98 c0000201 c6336401" +
			"12340035 000b3cd6 616263",
	}, {
		name:   "UDP over IPv6",
		layers: []packet.Layer{packet.Ethernet{}, packet.IPv6{}, packet.UDP{Src: 0x1234, Dst: 53}, packet.Payload("abc")},
		want: ethernet + "86dd" +
			"60000000 000b1140" +
			"20010db8000000000000000000000001 20010db8000000000000000000000002" +
			"12340035 000bcd97 616263",
	}, {
		name:   "TCP SYN with options behind a VLAN tag",
		layers: []packet.Layer{packet.Ethernet{}, packet.VLAN{ID: 7, Priority: 5}, packet.IPv4{}, packet.TCP{Src: 1, Dst: 2, Seq: 3, Flags: packet.SYN, Options: []byte{2, 4, 5, 0xb4}}},
		want: ethernet + "8100 a007 0800" +
			"4500002c 00000000 40068e96 c0000201 c6336401" +
			"00010002 00000003 00000000 6002ffff abea0000 020405b4",
	}, {
		name:   "two tags around an unknown protocol",
		layers: []packet.Layer{packet.Ethernet{}, packet.VLAN{ID: 1, TPID: 0x88a8}, packet.VLAN{ID: 2, EtherType: new(uint16(0x88cc))}, packet.Payload{0xff}},
		want:   ethernet + "88a8 0001 8100 0002 88cc ff",
	}, {
		name: "ARP request",
		layers: []packet.Layer{packet.Ethernet{Dst: net.HardwareAddr{255, 255, 255, 255, 255, 255}}, packet.ARP{
			SenderIP: netip.MustParseAddr("203.0.113.5"), TargetIP: netip.MustParseAddr("203.0.113.6")}},
		want: "ffffffffffff 020000000001 0806" +
			"0001 0800 06 04 0001 020000000001 cb007105 000000000000 cb007106",
	}, {
		name: "every extension header",
		layers: []packet.Layer{
			packet.IPv6{}, packet.HopByHop{}, packet.DestOptions{Options: []byte{0x1e, 1, 0}},
			packet.Routing{Type: 4, Data: []byte{9}}, packet.Fragment{Offset: 3, More: true, ID: 0x01020304},
			packet.AuthHeader{SPI: 5, Seq: 6, ICV: []byte{7}}, packet.Payload{0xaa},
		},
		want: "60000000 00310040" +
			"20010db8000000000000000000000001 20010db8000000000000000000000002" +
			"3c00 0104 00000000" +
			"2b00 1e0100 010100" +
			"2c00 0400 09000000" +
			"3300 0019 01020304" +
			"fd02 0000 00000005 00000006 07000000" +
			"aa",
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := hex.EncodeToString(packet.Build(tt.layers...))
			if diff := cmp.Diff(strings.ReplaceAll(tt.want, " ", ""), got); diff != "" {
				t.Errorf("frame (-want +got):\n%s", diff)
			}
		})
	}
}
