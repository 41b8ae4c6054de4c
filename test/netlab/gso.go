//go:build linux

package netlab

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/packet"
)

// vnetHeaderLen is the size of a vnetHeader in front of a frame.
const vnetHeaderLen = 10

// vnetHeader is struct virtio_net_hdr of linux/virtio_net.h, which a packet
// socket puts in front of frames when PACKET_VNET_HDR is on.
type vnetHeader struct {
	Flags, GSOType                            uint8
	HdrLen, GSOSize, ChecksumAt, ChecksumSkip uint16
}

// SendGSO sends one TCP or UDP frame as a super-packet: it crosses the pair in
// one piece, whatever the MTU, and counts as the packets with gsoSize bytes of
// data each that a network card would make of it. The frame may have up to 64
// KiB. A native XDP program at the other end makes the kernel cut the packet up
// beforehand; a generic one sees it whole.
func (s *Sender) SendGSO(frame []byte, gsoSize uint16) error {
	frame = bytes.Clone(frame)
	header, err := gsoHeader(frame, gsoSize)
	if err != nil {
		return fmt.Errorf("send super-packet on %s: %w", s.end.Name, err)
	}
	// Without PACKET_QDISC_BYPASS, which drops what the kernel has to cut up.
	fd, err := s.open(option{unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	super := slices.Concat(header, frame)
	return s.send(fd, 1, func(int) []byte { return super })
}

func gsoHeader(frame []byte, gsoSize uint16) ([]byte, error) {
	o, err := packet.PrepareOffload(frame)
	if err != nil {
		return nil, err
	}
	h := vnetHeader{
		Flags:        unix.VIRTIO_NET_HDR_F_NEEDS_CSUM,
		GSOType:      gsoType(o.Layout),
		HdrLen:       uint16(o.Payload),
		GSOSize:      gsoSize,
		ChecksumAt:   uint16(o.Transport),
		ChecksumSkip: uint16(o.ChecksumField),
	}
	return binary.Append(nil, binary.NativeEndian, h)
}

func gsoType(l packet.Layout) uint8 {
	switch {
	case l.Proto == unix.IPPROTO_UDP:
		return unix.VIRTIO_NET_HDR_GSO_UDP_L4
	case l.Version == 4:
		return unix.VIRTIO_NET_HDR_GSO_TCPV4
	default:
		return unix.VIRTIO_NET_HDR_GSO_TCPV6
	}
}

// gsoSizeOf returns the data bytes in each segment of a received super-packet,
// 0 for any other frame.
func gsoSizeOf(vnet []byte) int {
	const typeAt, sizeAt = 1, 4
	if vnet[typeAt] == unix.VIRTIO_NET_HDR_GSO_NONE {
		return 0
	}
	return int(binary.NativeEndian.Uint16(vnet[sizeAt:]))
}
