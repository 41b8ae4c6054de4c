package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Call is to call a method by gRPC as fast as is answered, as the workers of a gateway do: each has a connection, on which
// it makes some calls at once and then waits for all answers.
type Call struct {
	Addr    string
	Method  string // its path
	Message []byte // the question, encoded
	Conns   int
	Streams int // calls at a time on each connection
	For     time.Duration
}

// caller makes calls on a connection. It is a client of HTTP/2 and no more: one of gRPC would take longer to ask than
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
	return together(c.Conns, func(begin time.Time) (int, error) { return c.callOn(begin.Add(c.For)) })
}

// together asks on several connections at once. ask is told when that began, and returns how many requests were answered.
func together(conns int, ask func(begin time.Time) (int, error)) (Asked, error) {
	counts := make([]int, conns)
	errs := make([]error, conns)
	begin := time.Now()
	var all sync.WaitGroup
	for i := range conns {
		all.Go(func() { counts[i], errs[i] = ask(begin) })
	}
	all.Wait()
	asked := Asked{Took: time.Since(begin)}
	for _, n := range counts {
		asked.Requests += n
	}
	return asked, errors.Join(errs...)
}

// callOn calls on a connection of its own, and returns how many calls were answered.
func (c Call) callOn(end time.Time) (int, error) {
	a, err := newCaller(c)
	if err != nil {
		return 0, err
	}
	defer a.conn.Close()
	if err := a.conn.SetDeadline(end.Add(slowest)); err != nil {
		return 0, err
	}
	err = a.run(end)
	return a.done, err
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

// run makes calls until end.
func (a *caller) run(end time.Time) error {
	first, err := a.headers()
	if err != nil {
		return err
	}
	for header := first; time.Now().Before(end); header = a.header {
		if err := a.callAtOnce(header); err != nil {
			return err
		}
	}
	return nil
}

// callAtOnce makes calls, of which the first has a header of its own, and waits for the answers.
func (a *caller) callAtOnce(header []byte) error {
	for range a.Streams {
		if err := a.send(header); err != nil {
			return err
		}
		header = a.header
	}
	if err := a.out.Flush(); err != nil {
		return err
	}
	for open := a.Streams; open > 0; {
		n, err := a.receive()
		if err != nil {
			return err
		}
		open -= n
	}
	return nil
}

// headers returns the header of the first call, which has the fields themselves, and sets that of all others, which has what is
// remembered of them.
func (a *caller) headers() (first []byte, err error) {
	var text bytes.Buffer
	encoder := hpack.NewEncoder(&text)
	for _, header := range []*[]byte{&first, &a.header} {
		text.Reset()
		for _, f := range [][2]string{
			{":method", "POST"}, {":scheme", "http"}, {":path", a.Method}, {":authority", a.Addr},
			{"content-type", "application/grpc"}, {"te", "trailers"}, {"user-agent", "bench"},
		} {
			if err := encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
				return nil, err
			}
		}
		*header = bytes.Clone(text.Bytes())
	}
	return first, nil
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
