package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Call is to call a method by gRPC as fast as is answered, on one connection as gateways have them.
type Call struct {
	Addr    string
	Method  string // its path
	Message []byte // the question, encoded
	Streams int    // calls at a time
	For     time.Duration
}

// caller makes calls. It is a client of HTTP/2 and no more: one of gRPC would take longer to ask than
// servers take to answer.
type caller struct {
	Call
	conn    net.Conn
	out     *bufio.Writer
	in      *bufio.Reader
	framer  *http2.Framer
	header  []byte // that all calls but the first have
	message []byte // with gRPC's prefix
	next    uint32 // the next stream
	done    int
}

// call is roleCall. A call that fails is an error.
func call(c Call) (Asked, error) {
	a, err := newCaller(c)
	if err != nil {
		return Asked{}, err
	}
	defer a.conn.Close()
	begin := time.Now()
	if err := a.conn.SetDeadline(begin.Add(c.For + slowest)); err != nil {
		return Asked{}, err
	}
	err = a.run(begin.Add(c.For))
	return Asked{a.done, time.Since(begin)}, err
}

// window is how much a server may send before it hears of what was read: enough for all calls.
const window = 1<<31 - 1 - 65535

func newCaller(c Call) (*caller, error) {
	conn, err := net.DialTimeout("tcp4", c.Addr, slowest)
	if err != nil {
		return nil, err
	}
	a := &caller{Call: c, conn: conn, out: bufio.NewWriterSize(conn, 64<<10), in: bufio.NewReaderSize(conn, 64<<10), next: 1}
	a.framer = http2.NewFramer(a.out, a.in)
	a.framer.SetReuseFrames()
	a.framer.ReadMetaHeaders = hpack.NewDecoder(4<<10, nil)
	a.message = binary.BigEndian.AppendUint32([]byte{0}, uint32(len(c.Message)))
	a.message = append(a.message, c.Message...)
	_, err = a.out.WriteString(http2.ClientPreface)
	if err := errors.Join(err, a.framer.WriteSettings(), a.framer.WriteWindowUpdate(0, window)); err != nil {
		conn.Close()
		return nil, err
	}
	return a, nil
}

// run makes calls until end, and waits for the answers of all.
func (a *caller) run(end time.Time) error {
	if err := a.begin(); err != nil {
		return err
	}
	want, open := a.Streams, a.Streams
	for range a.Streams - 1 {
		if err := a.send(a.header); err != nil {
			return err
		}
	}
	for open > 0 {
		if a.in.Buffered() == 0 {
			for ; open < want; open++ {
				if err := a.send(a.header); err != nil {
					return err
				}
			}
			if err := a.out.Flush(); err != nil {
				return err
			}
		}
		n, err := a.receive()
		if err != nil {
			return err
		}
		open -= n
		if n > 0 && time.Now().After(end) {
			want = 0
		}
	}
	return nil
}

// begin sends the first call. Its header has the fields themselves, those of all others what is remembered of them.
func (a *caller) begin() error {
	var text bytes.Buffer
	encoder := hpack.NewEncoder(&text)
	encode := func() ([]byte, error) {
		text.Reset()
		for _, f := range [][2]string{
			{":method", "POST"}, {":scheme", "http"}, {":path", a.Method}, {":authority", a.Addr},
			{"content-type", "application/grpc"}, {"te", "trailers"}, {"user-agent", "bench"},
		} {
			if err := encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
				return nil, err
			}
		}
		return bytes.Clone(text.Bytes()), nil
	}
	first, err := encode()
	if err != nil {
		return err
	}
	if a.header, err = encode(); err != nil {
		return err
	}
	return a.send(first)
}

func (a *caller) send(header []byte) error {
	stream := a.next
	a.next += 2
	err := a.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: header, EndHeaders: true})
	if err != nil {
		return err
	}
	return a.framer.WriteData(stream, true, a.message)
}

// receive reads a frame, and returns how many calls it ends.
func (a *caller) receive() (ended int, err error) {
	frame, err := a.framer.ReadFrame()
	if err != nil {
		return 0, err
	}
	switch f := frame.(type) {
	case *http2.MetaHeadersFrame:
		if !f.StreamEnded() {
			return 0, nil
		}
		return 1, a.end(f)
	case *http2.SettingsFrame:
		if !f.IsAck() {
			return 0, errors.Join(a.framer.WriteSettingsAck(), a.out.Flush())
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			return 0, errors.Join(a.framer.WritePing(true, f.Data), a.out.Flush())
		}
	case *http2.RSTStreamFrame, *http2.GoAwayFrame:
		return 0, fmt.Errorf("the server gives up: %v", f)
	}
	return 0, nil
}

// end looks at the trailer of a call.
func (a *caller) end(f *http2.MetaHeadersFrame) error {
	for _, field := range f.Fields {
		if field.Name == "grpc-status" && field.Value == "0" {
			a.done++
			return nil
		}
	}
	return fmt.Errorf("a call failed: %v", f.Fields)
}
