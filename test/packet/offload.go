package packet

import "fmt"

// Offload is what a sender tells a network card that is to compute a checksum
// and to cut a packet into segments.
type Offload struct {
	Layout
	Payload       int // where the data starts, in bytes from the frame's start
	ChecksumField int // where the checksum is, in bytes from the transport header
}

// PrepareOffload makes a TCP or UDP frame ready for a checksum that is computed
// later: it writes the pseudo header's sum where the checksum belongs. It fails
// for any other frame.
func PrepareOffload(frame []byte) (Offload, error) {
	l, ok := Locate(frame)
	if !ok {
		return Offload{}, fmt.Errorf("offload: frame of %d bytes has no whole IP header", len(frame))
	}
	field, header := l.checksumField(frame), l.transportHeader(frame)
	if field == nil || header == 0 {
		return Offload{}, fmt.Errorf("offload: IPv%d protocol %d: want a whole TCP or UDP header", l.Version, l.Proto)
	}
	length := len(frame) - l.Transport
	put16(field, fold(pseudoSum(l.addresses(frame), l.Proto, length)))
	o := Offload{Layout: l, Payload: l.Transport + header, ChecksumField: udpChecksumAt}
	if l.Proto == protoTCP {
		o.ChecksumField = tcpChecksumAt
	}
	return o, nil
}

// Segments returns how many packets with at most size bytes of data each the
// TCP or UDP frame is, and at least 1. A size below 1 means no segmentation.
func Segments(frame []byte, size int) int {
	l, ok := Locate(frame)
	if !ok || size < 1 {
		return 1
	}
	header := l.transportHeader(frame)
	if header == 0 {
		return 1
	}
	data := len(frame) - l.Transport - header
	return max(1, (data+size-1)/size)
}

// transportHeader returns the length of the TCP or UDP header, 0 when there is
// not a whole one.
func (l Layout) transportHeader(frame []byte) int {
	segment := frame[l.Transport:]
	size := 0
	switch {
	case l.fragment:
	case l.Proto == protoUDP:
		size = udpHeaderLen
	case l.Proto == protoTCP && len(segment) >= tcpHeaderLen:
		size = max(tcpHeaderLen, int(segment[12]>>4)*4)
	}
	if size > len(segment) {
		return 0
	}
	return size
}
