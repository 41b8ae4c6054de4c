//go:build linux

package netlab

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// sendBuffer lets the largest super-packet wait in a socket.
const sendBuffer = 1 << 20

// maxRefused is how many times in a row a frame is offered before giving up.
// Each time the kernel gets a chance to empty the queue that was full.
const maxRefused = 100_000

// Sender sends frames out of one end of a pair, past the queueing disciplines.
// It may be used from several goroutines, one call at a time.
//
// All senders of a process send from the same CPU: a veth queues frames by CPU
// as long as no native XDP program is attached, so otherwise a frame could
// overtake those sent before it.
type Sender struct {
	end *End
	fd  int
	cpu int

	mu      sync.Mutex
	refused uint64 // frames that the kernel did not take, and counted as dropped
	base    uint64 // frames that the interface had dropped before
}

// NewSender returns a sender on an end of a pair.
func NewSender(end *End) (*Sender, error) {
	cpu, err := firstCPU()
	if err != nil {
		return nil, err
	}
	s := &Sender{end: end, cpu: cpu}
	if s.base, err = s.dropped(); err != nil {
		return nil, err
	}
	if s.fd, err = s.open(option{unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1}); err != nil {
		return nil, err
	}
	return s, nil
}

// option is an integer socket option.
type option struct {
	level, name, value int
}

// open opens a socket that sends on the sender's interface and receives
// nothing.
func (s *Sender) open(mode option) (int, error) {
	buffer := option{unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, sendBuffer}
	fd, err := s.end.packetSocket(0, []option{buffer, mode})
	if err != nil {
		return -1, fmt.Errorf("sender on %s: %w", s.end.Name, err)
	}
	return fd, nil
}

// Close closes the socket. The sender must not be in use.
func (s *Sender) Close() error {
	return os.NewSyscallError("close", unix.Close(s.fd))
}

// Send sends the frames in order. They begin with an Ethernet header and have
// no frame check sequence. When it returns nil, the kernel took all of them.
func (s *Sender) Send(frames ...[]byte) error {
	return s.send(s.fd, len(frames), func(i int) []byte { return frames[i] })
}

// SendN sends a frame n times.
func (s *Sender) SendN(frame []byte, n int) error {
	return s.send(s.fd, n, func(int) []byte { return frame })
}

// Mark sends a mark behind all frames sent so far, for Counter.Wait. It fails
// when the interface lost any of those frames, or one of another sender.
func (s *Sender) Mark() (Mark, error) {
	if err := s.lost(); err != nil {
		return Mark{}, err
	}
	mark := newMark()
	return mark, s.Send(mark.frame())
}

func (s *Sender) send(fd, n int, frame func(int) []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return onCPU(s.cpu, func() error {
		for i := range n {
			if err := s.transmit(fd, frame(i)); err != nil {
				return fmt.Errorf("send on %s: frame %d of %d, %d bytes: %w", s.end.Name, i+1, n, len(frame(i)), err)
			}
		}
		return nil
	})
}

// transmit offers a frame until the kernel takes it. ENOBUFS says that a queue
// was full and the frame is gone.
func (s *Sender) transmit(fd int, frame []byte) error {
	for range maxRefused {
		_, err := unix.Write(fd, frame)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.ENOBUFS):
			s.refused++
		case errors.Is(err, unix.EINTR):
		default:
			return os.NewSyscallError("write", err)
		}
	}
	return fmt.Errorf("refused %d times; is the interface at the other end up?", maxRefused)
}

// lost fails when the interface dropped more frames than it refused. Older
// kernels drop frames of a full queue without saying so.
func (s *Sender) lost() error {
	dropped, err := s.dropped()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if dropped-s.base > s.refused {
		return fmt.Errorf("%s lost %d frames without saying so; send fewer at once", s.end.Name, dropped-s.base-s.refused)
	}
	return nil
}

// dropped returns how many frames the interface was given and did not send.
func (s *Sender) dropped() (n uint64, err error) {
	err = s.end.Namespace.Do(func() error {
		link, err := netlink.LinkByIndex(s.end.Index)
		if err != nil {
			return fmt.Errorf("statistics of %s: %w", s.end.Name, err)
		}
		if stats := link.Attrs().Statistics; stats != nil {
			n = stats.TxDropped
		}
		return nil
	})
	return n, err
}
