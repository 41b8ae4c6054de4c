package bpf_test

import (
	"fmt"
	"testing"

	"github.com/headgate/headgate/test/packet"
	"github.com/headgate/headgate/test/progtest"
)

// Tagged, double tagged and untagged, a source is one source.
func TestCase01VLANAndQinQShareOneSource(t *testing.T) {
	ip := packet.IPv4{Src: addr(alice)}
	behind := func(tags ...packet.Layer) []byte {
		layers := append([]packet.Layer{packet.Ethernet{}}, tags...)
		return packet.Build(append(layers, ip, packet.UDP{Dst: 53}, packet.Zeros(20))...)
	}
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("5pps", 5))

	shapes := [][]byte{
		behind(),
		behind(packet.VLAN{ID: 7}),
		behind(packet.VLAN{ID: 7, TPID: 0x88a8}, packet.VLAN{ID: 8}),
	}
	wantRuns(t, lab, underLimit, shapes...)
	wantRuns(t, lab, underLimit, shapes[:2]...)
	wantRuns(t, lab, overPackets, shapes...)
	wantSources(t, lab, alice)

	// Tags in another order, and ones that a receiver strips before it looks at the packet.
	wantRuns(t, lab, overPackets,
		behind(packet.VLAN{ID: 7, TPID: 0x88a8}),
		behind(packet.VLAN{ID: 7}, packet.VLAN{ID: 8, TPID: 0x88a8}),
		behind(packet.VLAN{}, packet.VLAN{}))
}

// A third tag would be a way around every limit, so it is refused.
func TestThirdTagIsMalformed(t *testing.T) {
	lab := newLab(t)
	third := packet.Build(packet.Ethernet{}, packet.VLAN{}, packet.VLAN{}, packet.VLAN{},
		packet.IPv4{}, packet.UDP{})
	wantRuns(t, lab, malformed, third)
}

func TestTruncatedTagIsMalformed(t *testing.T) {
	lab := newLab(t)
	tagged := packet.Build(packet.Ethernet{}, packet.VLAN{}, packet.VLAN{}, packet.IPv4{}, packet.UDP{})
	for _, length := range []int{14, 15, 17, 18, 19, 21} {
		wantRuns(t, lab, malformed, tagged[:length])
	}
}

// The tag is 4 bytes that an IPv6 walk must not miss either.
func TestVLANTaggedIPv6WithHopByHop(t *testing.T) {
	lab := newLab(t)
	policy := udpPort("dns", 53)
	policy.Limit = progtest.Packets("2pps", 2)
	lab.SetPolicy(policy)
	frame := packet.Build(packet.Ethernet{}, packet.VLAN{ID: 3}, packet.IPv6{},
		packet.HopByHop{}, packet.UDP{Dst: 53}, packet.Zeros(10))
	wantRuns(t, lab, underLimit, frame, frame)
	wantRuns(t, lab, overPackets, frame)
	wantSources(t, lab, "2001:db8::")
}

// What keeps a link alive is never limited.
func TestCase18LinkTrafficIsNeverLimitedOrCharged(t *testing.T) {
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("1pph", 1))
	lab.SetRules(progtest.Block("0.0.0.0/0"), progtest.Block("::/0"))

	raw := func(etherType uint16) []byte {
		return packet.Build(packet.Ethernet{EtherType: &etherType}, packet.Zeros(46))
	}
	for _, frame := range [][]byte{
		packet.Build(packet.Ethernet{}, packet.ARP{}),
		packet.Build(packet.Ethernet{}, packet.VLAN{ID: 1}, packet.ARP{}),
		raw(0x88cc), // LLDP
		raw(0x8809), // LACP
		raw(0x0026), // a length: spanning tree
		raw(0x9100), // no tag to the kernel either
		raw(0xffff),
	} {
		wantRuns(t, lab, notIP, frame, frame)
	}
	for kind := uint8(133); kind <= 137; kind++ {
		frame := discoveryFrame(kind, 255)
		wantRuns(t, lab, discovery, frame, frame)
	}
	wantSources(t, lab)
}

// Only hop limit 255 shows that a message comes from the link itself.
func TestCase18NeighboursOfNeighbourDiscovery(t *testing.T) {
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("1pph", 1))

	limited := [][]byte{
		discoveryFrame(132, 255),
		discoveryFrame(138, 255),
		discoveryFrame(128, 255), // echo request
		discoveryFrame(135, 254),
		discoveryFrame(135, 1),
	}
	wantRuns(t, lab, underLimit, limited[0])
	wantRuns(t, lab, overPackets, limited...)

	behind := packet.Build(packet.Ethernet{}, packet.IPv6{HopLimit: 255}, packet.HopByHop{},
		packet.ICMPv6{Type: 135})
	wantRuns(t, lab, discovery, behind)
	// An ICMPv6 that belongs to IPv4 is nothing, and neither is one without a first byte.
	four := packet.Build(packet.Ethernet{}, packet.IPv4{TTL: 255}, packet.ICMPv6{Type: 135})
	wantRuns(t, lab, underLimit, four)
	empty := packet.Build(packet.Ethernet{}, packet.IPv6{HopLimit: 255, NextHeader: new(uint8(58))})
	wantRuns(t, lab, overPackets, empty)
	fragment := packet.Build(packet.Ethernet{}, packet.IPv6{HopLimit: 255},
		packet.Fragment{Offset: 1, NextHeader: new(uint8(58))}, packet.Payload{135})
	wantRuns(t, lab, overPackets, fragment)
}

func discoveryFrame(kind, hopLimit uint8) []byte {
	return packet.Build(packet.Ethernet{}, packet.IPv6{HopLimit: hopLimit}, packet.ICMPv6{Type: kind})
}

// Frames that the IP layer must discard are dropped here, and counted with what they are long.
func TestCase19MalformedFrames(t *testing.T) {
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("1kpps", 1000))
	v4 := func(ip packet.IPv4) []byte {
		return packet.Build(packet.Ethernet{}, ip, packet.UDP{}, packet.Zeros(8))
	}
	v6 := func(ip packet.IPv6) []byte {
		return packet.Build(packet.Ethernet{}, ip, packet.UDP{}, packet.Zeros(8))
	}
	type test struct {
		name  string
		frame []byte
	}
	tests := []test{
		{"version 0", v4(packet.IPv4{Version: new(uint8(0))})},
		{"version 6 as IPv4", v4(packet.IPv4{Version: new(uint8(6))})},
		{"version 15", v4(packet.IPv4{Version: new(uint8(15))})},
		{"total length 1 beyond the frame", v4(packet.IPv4{TotalLen: new(uint16(37))})},
		{"total length 65535", v4(packet.IPv4{TotalLen: new(uint16(65535))})},
		{"total length 0", v4(packet.IPv4{TotalLen: new(uint16(0))})},
		{"total length below the header", v4(packet.IPv4{TotalLen: new(uint16(19))})},
		{"total length below the options", v4(packet.IPv4{Options: make([]byte, 8), TotalLen: new(uint16(27))})},
		{"ihl 15 beyond total length", v4(packet.IPv4{IHL: new(uint8(15))})},
		{"IPv6 version 4", v6(packet.IPv6{Version: new(uint8(4))})},
		{"IPv6 version 0", v6(packet.IPv6{Version: new(uint8(0))})},
		{"IPv6 version 15", v6(packet.IPv6{Version: new(uint8(15))})},
		{"IPv6 payload length 1 beyond the frame", v6(packet.IPv6{PayloadLen: new(uint16(17))})},
		{"IPv6 payload length 65535", v6(packet.IPv6{PayloadLen: new(uint16(65535))})},
	}
	for ihl := range uint8(5) {
		tests = append(tests, test{fmt.Sprintf("ihl %d", ihl), v4(packet.IPv4{IHL: &ihl})})
	}
	for _, length := range []int{14, 15, 20, 33} {
		tests = append(tests,
			test{fmt.Sprintf("IPv4 frame of %d bytes", length), v4(packet.IPv4{})[:length]},
			test{fmt.Sprintf("IPv6 frame of %d bytes", length), v6(packet.IPv6{})[:length]})
	}
	tests = append(tests, test{"IPv6 frame of 53 bytes", v6(packet.IPv6{})[:53]})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := lab.For(t).Run(tt.frame)
			want := progtest.Decision{Outcome: malformed, Length: uint64(len(tt.frame) - 14)}
			if got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
	wantSources(t, lab)
}

// The nearest frames that are right.
func TestCase19SmallestWellFormedFrames(t *testing.T) {
	lab := newLab(t)
	for _, frame := range [][]byte{
		packet.Build(packet.Ethernet{}, packet.IPv4{}),
		packet.Build(packet.Ethernet{}, packet.IPv4{Options: make([]byte, 40)}),
		packet.Build(packet.Ethernet{}, packet.IPv6{}),
		packet.Build(packet.Ethernet{}, packet.IPv6{PayloadLen: new(uint16(0))}, packet.UDP{}),
	} {
		wantRuns(t, lab, noPolicy, frame)
	}
}
