package packet

import (
	"net"
	"net/netip"
	"slices"
)

// EtherTypes of the layers (IANA ieee-802-numbers).
const (
	etherTypeIPv4 = 0x0800
	etherTypeARP  = 0x0806
	etherTypeVLAN = 0x8100
	etherTypeQinQ = 0x88a8
	etherTypeIPv6 = 0x86dd
	// etherTypeExperimental is the second EtherType that IEEE 802 sets aside
	// for local experiments. The first is the marker of test/netlab.
	etherTypeExperimental = 0x88b6
)

const (
	etherHeaderLen = 14
	vlanHeaderLen  = 4
)

var (
	defaultSrcMAC = [6]byte{0x02, 0, 0, 0, 0, 0x01}
	defaultDstMAC = [6]byte{0x02, 0, 0, 0, 0, 0x02}
)

// Ethernet is an Ethernet II header. Unset addresses are 02:00:00:00:00:01 and
// 02:00:00:00:00:02, which are locally administered.
type Ethernet struct {
	Src, Dst net.HardwareAddr
	// EtherType overrides the one of the following layer. Set it to send a
	// Payload under any protocol, for example 0x88cc for LLDP.
	EtherType *uint16
}

func (Ethernet) ids() ids { return nothing }

func (e Ethernet) encode(body []byte, a around) []byte {
	h := make([]byte, etherHeaderLen)
	putMAC(h[0:6], e.Dst, defaultDstMAC)
	putMAC(h[6:12], e.Src, defaultSrcMAC)
	put16(h[12:], override(e.EtherType, a.next.etherType))
	return append(h, body...)
}

func putMAC(b []byte, mac net.HardwareAddr, unset [6]byte) {
	if len(mac) == 0 {
		copy(b, unset[:])
		return
	}
	copy(b, mac)
}

// VLAN is an 802.1Q tag, or an 802.1ad service tag when TPID is 0x88a8.
type VLAN struct {
	ID       uint16 // 0 to 4095
	Priority uint8  // 0 to 7
	// TPID is the EtherType that announces the tag; 0 means 0x8100.
	TPID uint16
	// EtherType overrides the one of the following layer.
	EtherType *uint16
}

func (v VLAN) ids() ids {
	if v.TPID == 0 {
		return ids{etherType: etherTypeVLAN, proto: protoExperimental}
	}
	return ids{etherType: v.TPID, proto: protoExperimental}
}

func (v VLAN) encode(body []byte, a around) []byte {
	h := make([]byte, vlanHeaderLen)
	put16(h[0:], uint16(v.Priority)<<13|v.ID&0x0fff)
	put16(h[2:], override(v.EtherType, a.next.etherType))
	return append(h, body...)
}

// ARP is an ARP packet for IPv4 over Ethernet (RFC 826).
type ARP struct {
	Op                   uint16 // 1 request, 2 reply; 0 means 1
	SenderMAC, TargetMAC net.HardwareAddr
	SenderIP, TargetIP   netip.Addr
}

func (ARP) ids() ids { return ids{etherType: etherTypeARP, proto: protoExperimental} }

func (r ARP) encode(body []byte, _ around) []byte {
	h := make([]byte, 28)
	copy(h, []byte{0, 1, 0x08, 0, 6, 4})
	put16(h[6:], max(r.Op, 1))
	putMAC(h[8:14], r.SenderMAC, defaultSrcMAC)
	copy(h[14:18], bytes4(r.SenderIP, defaultSrc4))
	putMAC(h[18:24], r.TargetMAC, [6]byte{})
	copy(h[24:28], bytes4(r.TargetIP, defaultDst4))
	return append(h, body...)
}

// Payload is the data at the end of a frame. Behind an IP header it goes by
// protocol 253 and behind Ethernet by EtherType 0x88b6, both of which are set
// aside for experiments, unless that header's override says otherwise.
type Payload []byte

// Zeros returns a payload of n zero bytes.
func Zeros(n int) Payload { return make(Payload, n) }

func (Payload) ids() ids {
	return ids{etherType: etherTypeExperimental, proto: protoExperimental}
}

func (p Payload) encode(body []byte, _ around) []byte {
	return slices.Concat([]byte(p), body)
}
