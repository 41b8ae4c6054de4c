//go:build linux

package netlab

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// received is a frame as it was on the wire.
type received struct {
	data    []byte // valid until the next one is received
	length  int    // of the frame, which is more than data when it was cut off
	gsoSize int    // data bytes in each segment of a super-packet, else 0
}

const (
	macsLen = 12 // the two addresses of an Ethernet header
	tagLen  = 4
	// frameRoom holds the largest packet but those of IPv6 jumbograms.
	frameRoom = 1<<16 + 64
)

// receiver holds the memory that receiving needs.
type receiver struct {
	buffer  [vnetHeaderLen + frameRoom]byte
	control [64]byte
}

// next receives one frame, or fails with unix.EAGAIN.
func (r *receiver) next(fd int) (received, error) {
	b := r.buffer[:]
	n, controlLen, _, _, err := unix.Recvmsg(fd, b, r.control[:], unix.MSG_TRUNC)
	if err != nil {
		return received{}, err
	}
	if n < vnetHeaderLen {
		return received{}, fmt.Errorf("frame of %d bytes without the header that was asked for", n)
	}
	f := received{
		data:    b[vnetHeaderLen:min(n, len(b))],
		length:  n - vnetHeaderLen,
		gsoSize: gsoSizeOf(b[:vnetHeaderLen]),
	}
	tag, err := tagIn(r.control[:controlLen])
	if err != nil || tag == nil || len(f.data) < macsLen {
		return f, err
	}
	f.data = putTag(b[vnetHeaderLen-tagLen:vnetHeaderLen+len(f.data)], tag)
	f.length += tagLen
	return f, nil
}

// putTag makes b, tagLen bytes followed by a frame, the frame with the tag put
// back: it moves the addresses to the front and writes the tag behind them. The
// room is where the vnetHeader was.
func putTag(b, tag []byte) []byte {
	copy(b, b[tagLen:tagLen+macsLen])
	copy(b[macsLen:], tag)
	return b
}

// tagIn returns the VLAN tag that the kernel took out of a frame, from struct
// tpacket_auxdata of linux/if_packet.h, or nil.
func tagIn(control []byte) ([]byte, error) {
	if len(control) == 0 {
		return nil, nil
	}
	_, data, _, err := unix.ParseOneSocketControlMessage(control)
	if err != nil {
		return nil, fmt.Errorf("control message: %w", err)
	}
	const statusAt, tciAt, tpidAt, size = 0, 16, 18, 20
	if len(data) < size {
		return nil, fmt.Errorf("control message of %d bytes: want %d", len(data), size)
	}
	order := binary.NativeEndian
	if order.Uint32(data[statusAt:])&unix.TP_STATUS_VLAN_VALID == 0 {
		return nil, nil
	}
	tag := binary.BigEndian.AppendUint16(nil, order.Uint16(data[tpidAt:]))
	return binary.BigEndian.AppendUint16(tag, order.Uint16(data[tciAt:])), nil
}

// read counts frames until Close.
func (c *Counter[K]) read() {
	defer close(c.done)
	var err error
	counts := make(Counts[K])
	r := new(receiver)
	closed := c.socket.Read(func(fd uintptr) bool {
		for err == nil {
			var f received
			f, err = r.next(int(fd))
			switch {
			case errors.Is(err, unix.EAGAIN):
				err = nil
				return false
			case errors.Is(err, unix.EINTR):
				err = nil
			case err == nil:
				counts, err = c.accept(counts, f)
			}
		}
		return true
	})
	c.fail(errors.Join(closed, err))
}

// accept counts a frame. At a mark it files the counts and starts new ones.
func (c *Counter[K]) accept(counts Counts[K], f received) (Counts[K], error) {
	mark, ok := markIn(f.data)
	if !ok {
		c.count(counts, f)
		return counts, nil
	}
	if err := c.overflow(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.arrived = append(c.arrived, interval[K]{mark, counts})
	c.tell()
	return make(Counts[K]), nil
}

// fail makes every Wait fail for whose mark has not arrived. The first reason
// counts.
func (c *Counter[K]) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = fmt.Errorf("counter on %s: %w", c.name, err)
	}
	c.tell()
}

// tell wakes all that wait. The caller holds the lock.
func (c *Counter[K]) tell() {
	close(c.changed)
	c.changed = make(chan struct{})
}
