// Package eventmap reads the program's sampled drop events.
package eventmap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/wire"
)

// ErrClosed is returned by Next after Close.
var ErrClosed = errors.New("event reader is closed")

// Event is one packet that was dropped, or would have been in dry run.
type Event struct {
	Time       uint64 // ns of the boot clock
	Suppressed uint64 // drops of the same CPU without an event since its last one
	Source     netip.Addr
	SourcePort uint16 // 0 where the packet has none
	DestPort   uint16
	Proto      uint8
	Length     uint32 // of the IP packet
	Ifindex    int
	PolicyID   uint16 // 0 where no policy decided
	Verdict    bpf.Verdict
	Reason     bpf.Reason
}

// Reader takes events out of the ring buffer. A ring has one reader at a time: two would each
// see a part.
type Reader struct {
	ring   *ringbuf.Reader
	record ringbuf.Record
}

// NewReader returns a reader of the map, which stays the caller's.
func NewReader(events *ebpf.Map) (*Reader, error) {
	ring, err := ringbuf.NewReader(events)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return &Reader{ring: ring}, nil
}

// SetDeadline makes Next return os.ErrDeadlineExceeded at that time; the zero time takes it back.
func (r *Reader) SetDeadline(t time.Time) { r.ring.SetDeadline(t) }

// Next waits for the next event.
func (r *Reader) Next() (Event, error) {
	err := r.ring.ReadInto(&r.record)
	if errors.Is(err, ringbuf.ErrClosed) {
		return Event{}, ErrClosed
	}
	if err != nil {
		return Event{}, fmt.Errorf("read an event: %w", err)
	}
	return decode(r.record.RawSample)
}

// Close ends a Next that waits, and all later ones.
func (r *Reader) Close() error { return r.ring.Close() }

func decode(sample []byte) (Event, error) {
	var raw bpf.Event
	if err := binary.Read(bytes.NewReader(sample), binary.NativeEndian, &raw); err != nil {
		return Event{}, fmt.Errorf("an event of %d bytes is of another version: %w", len(sample), err)
	}
	return Event{
		Time:       raw.Time,
		Suppressed: raw.Suppressed,
		Source:     wire.ToAddr(raw.Addr, raw.Family),
		SourcePort: wire.Port(raw.Sport),
		DestPort:   wire.Port(raw.Dport),
		Proto:      raw.Proto,
		Length:     raw.Length,
		Ifindex:    int(raw.Ifindex),
		PolicyID:   raw.PolicyId,
		Verdict:    bpf.Verdict(raw.Verdict),
		Reason:     bpf.Reason(raw.Reason),
	}, nil
}
