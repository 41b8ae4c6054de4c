package packet_test

import (
	"encoding/binary"
	"math/big"
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"github.com/headgate/headgate/test/packet"
)

// sumsToZero checks an Internet checksum without the code under test: bytes
// that carry a right one are, read as one number, a multiple of 65535.
func sumsToZero(parts ...[]byte) bool {
	var all []byte
	for _, part := range parts {
		all = append(all, part...)
	}
	if len(all)%2 == 1 {
		all = append(all, 0)
	}
	n := new(big.Int).SetBytes(all)
	return n.Mod(n, big.NewInt(65535)).Sign() == 0
}

// verify checks every checksum of an untagged frame without IPv4 options.
func verify(t interface{ Errorf(string, ...any) }, frame []byte) {
	ip := frame[14:]
	if ip[0]>>4 == 6 {
		pseudo := binary.BigEndian.AppendUint32(nil, uint32(len(ip)-40))
		if !sumsToZero(ip[8:40], pseudo, []byte{0, 0, 0, ip[6]}, ip[40:]) {
			t.Errorf("IPv6 protocol %d: wrong checksum in % x", ip[6], frame)
		}
		return
	}
	if !sumsToZero(ip[:20]) {
		t.Errorf("wrong IPv4 header checksum in % x", frame)
	}
	var pseudo []byte
	if ip[9] != 1 { // ICMP has no pseudo header
		pseudo = append(pseudo, ip[12:20]...)
		pseudo = append(pseudo, 0, ip[9])
		pseudo = binary.BigEndian.AppendUint16(pseudo, uint16(len(ip)-20))
	}
	if !sumsToZero(pseudo, ip[20:]) {
		t.Errorf("IPv4 protocol %d: wrong checksum in % x", ip[9], frame)
	}
}

func TestChecksums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		frame := drawFrame(t)
		verify(t, frame)
	})
}

// TestSetSourceKeepsChecksums also sees to it that nothing but the address and
// the checksums changed, by changing the address back.
func TestSetSourceKeepsChecksums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		frame := drawFrame(t)
		before := string(frame)
		was, _ := packet.Source(frame)
		addr := drawAddr(t, was.Is4())
		if err := packet.SetSource(frame, addr); err != nil {
			t.Fatal(err)
		}
		verify(t, frame)
		if got, _ := packet.Source(frame); got != addr {
			t.Errorf("source %v, want %v", got, addr)
		}
		if err := packet.SetSource(frame, was); err != nil {
			t.Fatal(err)
		}
		if string(frame) != before {
			t.Errorf("frame changed:\n% x\n% x", before, frame)
		}
	})
}

func drawFrame(t *rapid.T) []byte {
	four := rapid.Bool().Draw(t, "four")
	src, dst := drawAddr(t, four), drawAddr(t, four)
	var ip packet.Layer = packet.IPv6{Src: src, Dst: dst}
	icmp := packet.Layer(packet.ICMPv6{Type: 128})
	if four {
		ip, icmp = packet.IPv4{Src: src, Dst: dst}, packet.ICMP{Type: 8}
	}
	port := rapid.Uint16().Draw(t, "port")
	upper := rapid.SampledFrom([]packet.Layer{
		packet.UDP{Src: port, Dst: ^port}, packet.TCP{Src: port, Dst: 80, Flags: packet.ACK}, icmp,
	}).Draw(t, "upper")
	payload := rapid.SliceOfN(rapid.Byte(), 0, 64).Draw(t, "payload")
	return packet.Build(packet.Ethernet{}, ip, upper, packet.Payload(payload))
}

func drawAddr(t *rapid.T, four bool) netip.Addr {
	n := 16
	if four {
		n = 4
	}
	b := rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "addr")
	addr, _ := netip.AddrFromSlice(b)
	return addr
}
