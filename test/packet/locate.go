package packet

import (
	"fmt"
	"net/netip"
)

// Layout says where the headers of a frame are, in bytes from its start.
type Layout struct {
	Version   uint8 // of IP: 4 or 6
	Network   int   // the IP header
	Transport int   // what follows the IP header
	Proto     uint8 // what that is, as the IP header names it
	fragment  bool  // an IPv4 fragment other than the first
}

// Locate finds the IP header of a frame behind Ethernet and at most two VLAN
// tags. It reports false for a frame that has none, or only a part of one. It
// does not look at what follows, so behind IPv6 extension headers Proto is the
// number of the first of them.
func Locate(frame []byte) (Layout, bool) {
	if len(frame) < etherHeaderLen {
		return Layout{}, false
	}
	at, etherType := etherHeaderLen, get16(frame[12:])
	for range 2 {
		if !isTag(etherType) || len(frame) < at+vlanHeaderLen {
			break
		}
		etherType = get16(frame[at+2:])
		at += vlanHeaderLen
	}
	switch etherType {
	case etherTypeIPv4:
		return locate4(frame, at)
	case etherTypeIPv6:
		return locate6(frame, at)
	}
	return Layout{}, false
}

func isTag(etherType uint16) bool {
	return etherType == etherTypeVLAN || etherType == etherTypeQinQ
}

func locate4(frame []byte, at int) (Layout, bool) {
	if len(frame) < at+ipv4HeaderLen {
		return Layout{}, false
	}
	h := frame[at:]
	size := int(h[0]&0x0f) * 4
	if h[0]>>4 != 4 || size < ipv4HeaderLen || len(h) < size {
		return Layout{}, false
	}
	return Layout{
		Version:   4,
		Network:   at,
		Transport: at + size,
		Proto:     h[9],
		fragment:  get16(h[6:])&0x1fff != 0,
	}, true
}

func locate6(frame []byte, at int) (Layout, bool) {
	if len(frame) < at+ipv6HeaderLen || frame[at]>>4 != 6 {
		return Layout{}, false
	}
	return Layout{Version: 6, Network: at, Transport: at + ipv6HeaderLen, Proto: frame[at+6]}, true
}

// addresses returns the source and destination of the frame, in place.
func (l Layout) addresses(frame []byte) []byte {
	if l.Version == 4 {
		return frame[l.Network+12 : l.Network+20]
	}
	return frame[l.Network+8 : l.Network+40]
}

// checksumField returns the transport checksum of the frame, in place, or nil
// when there is none that covers the IP addresses.
func (l Layout) checksumField(frame []byte) []byte {
	var offset int
	switch {
	case l.fragment:
		return nil
	case l.Proto == protoTCP:
		offset = tcpChecksumAt
	case l.Proto == protoUDP:
		offset = udpChecksumAt
	case l.Proto == protoICMPv6 && l.Version == 6:
		offset = icmpChecksumAt
	default:
		return nil
	}
	if at := l.Transport + offset; at+2 <= len(frame) {
		return frame[at : at+2]
	}
	return nil
}

// Source returns the source address of a frame, and false for a frame without
// a whole IP header. See Locate for what it sees through.
func Source(frame []byte) (netip.Addr, bool) {
	l, ok := Locate(frame)
	if !ok {
		return netip.Addr{}, false
	}
	addresses := l.addresses(frame)
	return netip.AddrFromSlice(addresses[:len(addresses)/2])
}

// SetSource writes another source address into a frame and corrects the
// checksums that cover it, so that one frame can stand for many senders. It
// fails when the frame has no IP header of the address's version.
func SetSource(frame []byte, addr netip.Addr) error {
	l, ok := Locate(frame)
	if !ok {
		return fmt.Errorf("set source %v: frame of %d bytes has no whole IP header", addr, len(frame))
	}
	addresses := l.addresses(frame)
	old, with := addresses[:len(addresses)/2], addr.AsSlice()
	if len(with) != len(old) {
		return fmt.Errorf("set source %v: frame is IPv%d; use an address of that version", addr, l.Version)
	}
	if l.Version == 4 {
		adjust(frame[l.Network+10:l.Network+12], old, with)
	}
	if field := l.checksumField(frame); field != nil {
		l.adjustTransport(field, old, with)
	}
	copy(old, with)
	return nil
}

// adjustTransport is adjust with the two values that UDP treats differently: 0
// stands for no checksum, and a checksum of 0 is written as all ones.
func (l Layout) adjustTransport(field, before, after []byte) {
	udp := l.Proto == protoUDP
	if udp && get16(field) == 0 {
		return
	}
	adjust(field, before, after)
	if udp && get16(field) == 0 {
		put16(field, 0xffff)
	}
}
