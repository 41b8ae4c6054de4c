//go:build linux

package netlab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/packet"
)

// WaitLimit is how long Counter.Wait waits for a mark at most. A mark takes
// milliseconds unless something in between drops it.
const WaitLimit = 10 * time.Second

// receiveBuffer is what frames may take up before the counter gets to see them,
// in bytes of kernel memory, of which the kernel uses twice as much: at least
// 100,000 small frames.
const receiveBuffer = 64 << 20

// Count is a number of frames and their length together.
type Count struct {
	Packets uint64
	Bytes   uint64 // from the Ethernet header on, VLAN tags included
	// Segments is how many packets the super-packets among them stand for. It
	// is 0 when there was none.
	Segments uint64
}

// Add returns the sum of two counts.
func (c Count) Add(d Count) Count {
	return Count{c.Packets + d.Packets, c.Bytes + d.Bytes, c.Segments + d.Segments}
}

// Counts has a count for each key that was seen.
type Counts[K comparable] map[K]Count

// Total returns the sum of all counts.
func (c Counts[K]) Total() Count {
	var total Count
	for _, n := range c {
		total = total.Add(n)
	}
	return total
}

// interval is what arrived between two marks.
type interval[K comparable] struct {
	mark   Mark
	counts Counts[K]
}

// Counter counts the frames that one end of a pair receives and hands to the
// network stack: an XDP program's XDP_PASS, but not its XDP_DROP. A Counter may
// be used from several goroutines.
type Counter[K comparable] struct {
	name     string
	older    *os.File // see olderSocket
	file     *os.File
	socket   syscall.RawConn
	classify func([]byte) (K, bool)
	done     chan struct{} // closed when the reading goroutine ended

	mu      sync.Mutex
	arrived []interval[K] // marks nobody waited for yet, oldest first
	failed  error
	changed chan struct{} // closed, and replaced, when one of these changes
}

// NewCounter starts counting at an end of a pair. classify says under which key
// a frame counts, or false for not at all; packet.Source counts by source
// address. It gets the frame as it was on the wire, VLAN tags included, is
// called from one goroutine at a time, and must not keep the slice. Marks are
// not counted.
func NewCounter[K comparable](end *End, classify func(frame []byte) (key K, ok bool)) (*Counter[K], error) {
	c := &Counter[K]{
		name:     end.Name,
		classify: classify,
		done:     make(chan struct{}),
		changed:  make(chan struct{}),
	}
	if err := c.open(end); err != nil {
		return nil, fmt.Errorf("counter on %s: %w", end.Name, err)
	}
	go c.read()
	return c, nil
}

// open opens the two sockets, in this order.
func (c *Counter[K]) open(end *End) (err error) {
	if c.older, err = end.olderSocket(); err != nil {
		return err
	}
	fd, err := end.packetSocket(unix.ETH_P_ALL, []option{
		{unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer},
		{unix.SOL_PACKET, unix.PACKET_AUXDATA, 1},
		{unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1},
		{unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1},
	})
	if err == nil {
		c.file, c.socket, err = pollable(fd)
	}
	if err != nil {
		return errors.Join(err, c.older.Close())
	}
	return nil
}

// pollable hands a socket to the runtime, so that Close ends a read.
func pollable(fd int) (*os.File, syscall.RawConn, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, nil, os.NewSyscallError("set nonblocking", err)
	}
	file := os.NewFile(uintptr(fd), "packet socket")
	conn, err := file.SyscallConn()
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, conn, nil
}

// Close stops counting. Wait then fails with os.ErrClosed, except for marks that
// have arrived.
func (c *Counter[K]) Close() error {
	c.fail(os.ErrClosed)
	err := errors.Join(c.file.Close(), c.older.Close())
	<-c.done
	return err
}

// Wait waits for a mark of a Sender at the other end and returns what arrived
// before it, but after the mark of the previous Wait, or since NewCounter. It
// fails when the counts are not exact because the socket had no room, when ctx
// is done, and after WaitLimit.
func (c *Counter[K]) Wait(ctx context.Context, mark Mark) (Counts[K], error) {
	ctx, cancel := context.WithTimeout(ctx, WaitLimit)
	defer cancel()
	for {
		counts, changed, err := c.take(mark)
		if counts != nil || err != nil {
			return counts, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("counter on %s: mark did not arrive: %w", c.name, ctx.Err()), c.overflow())
		}
	}
}

// take returns the counts up to the mark, which are never nil, or else a
// channel that tells when to look again.
func (c *Counter[K]) take(mark Mark) (Counts[K], <-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, last := range c.arrived {
		if last.mark != mark {
			continue
		}
		for _, earlier := range c.arrived[:i] {
			for key, n := range earlier.counts {
				last.counts[key] = last.counts[key].Add(n)
			}
		}
		c.arrived = c.arrived[i+1:]
		return last.counts, nil, nil
	}
	return nil, c.changed, c.failed
}

// overflow fails when the socket dropped frames since it was last asked.
func (c *Counter[K]) overflow() error {
	var stats *unix.TpacketStats
	var err error
	failed := c.socket.Control(func(fd uintptr) {
		stats, err = unix.GetsockoptTpacketStats(int(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS)
	})
	if err := errors.Join(failed, err); err != nil {
		return fmt.Errorf("counter on %s: statistics: %w", c.name, err)
	}
	if stats.Drops > 0 {
		return fmt.Errorf("counter on %s: no room for %d frames; send fewer between marks", c.name, stats.Drops)
	}
	return nil
}

// Exchange sends the frames and a mark and returns what the counter at the
// other end saw of them, with all that arrived since the counter's last mark.
func Exchange[K comparable](ctx context.Context, s *Sender, c *Counter[K], frames ...[]byte) (Counts[K], error) {
	if err := s.Send(frames...); err != nil {
		return nil, err
	}
	mark, err := s.Mark()
	if err != nil {
		return nil, err
	}
	return c.Wait(ctx, mark)
}

// count adds a frame to the counts.
func (c *Counter[K]) count(counts Counts[K], f received) {
	key, ok := c.classify(f.data)
	if !ok {
		return
	}
	n := Count{Packets: 1, Bytes: uint64(f.length)}
	if f.gsoSize > 0 {
		n.Segments = uint64(packet.Segments(f.data, f.gsoSize))
	}
	counts[key] = counts[key].Add(n)
}
