package redisconn

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

const (
	// mostReply bounds, in bytes, what a server may answer to one command, or say in one message. The largest that is asked
	// for is a page of rules, about a megabyte.
	mostReply = 16 << 20
	// elementCost is what an element of an array counts for: it takes memory even if it has no text.
	elementCost = 16
	// deepest is how many arrays may be in each other. The answer of CLUSTER SLOTS has four.
	deepest = 8
	// longestHead bounds the line that says how long something is.
	longestHead = 32
)

// framing follows where replies begin and end, in RESP2 and in RESP3, which sentinels are asked in, and how long what comes
// next is said to be. The library makes room for that before it reads it, and more than the machine has ends the process: that
// cannot be recovered from.
type framing struct {
	kind byte   // of the line that is being read; 0 at its beginning
	head []byte // of that line, as far as it is a length
	skip int    // bytes of a text that are still to come
	open []int  // elements that are still to come of each array, the outermost first
	left int    // of mostReply
}

func newFraming() framing { return framing{left: mostReply} }

// read follows bytes that came, and returns what is wrong with them.
func (f *framing) read(b []byte) error {
	for len(b) > 0 {
		switch {
		case f.skip > 0:
			n := min(f.skip, len(b))
			f.skip, b = f.skip-n, b[n:]
			if f.skip == 0 {
				f.end()
			}
		case f.kind == 0:
			f.kind, b = b[0], b[1:]
		default:
			rest, err := f.line(b)
			if err != nil {
				return err
			}
			b = rest
		}
	}
	return nil
}

// line follows a line, and returns what comes after it.
func (f *framing) line(b []byte) (rest []byte, err error) {
	n := bytes.IndexByte(b, '\n') + 1
	text := b[:max(n, 0)]
	if n == 0 {
		text = b
	}
	switch f.kind {
	case '+', '-', ':', '_', '#', ',', '(':
		if err := f.spend(len(text)); err != nil || n == 0 {
			return nil, err
		}
		f.end()
		return b[n:], nil
	case '$', '!', '=', '*', '~', '>', '%', '|':
	default:
		return nil, fmt.Errorf("%w: %q begins no reply", errNonsense, f.kind)
	}
	if f.head = append(f.head, text...); len(f.head) > longestHead {
		return nil, fmt.Errorf("%w: %.40q is no length", errNonsense, f.head)
	}
	if n == 0 {
		return nil, nil
	}
	return b[n:], f.begin()
}

// begin begins a text or an array whose length is known now.
func (f *framing) begin() error {
	n, err := strconv.Atoi(string(bytes.TrimSuffix(f.head, []byte("\r\n"))))
	if err != nil || n < -1 || n > mostReply {
		return fmt.Errorf("%w: a reply of length %.40q", errNonsense, f.head)
	}
	text := f.kind == '$' || f.kind == '!' || f.kind == '='
	elements := n
	switch f.kind {
	case '%':
		elements = 2 * n
	case '|': // what is said of the value that follows, and that
		elements = 2*n + 1
	}
	switch {
	case n == -1, !text && elements == 0:
		f.end()
		return nil
	case text:
		f.skip = n + len("\r\n")
	case len(f.open) == deepest:
		return fmt.Errorf("%w: arrays within arrays", errNonsense)
	default:
		f.open = append(f.open, elements)
		n = elements * elementCost
	}
	f.kind, f.head = 0, f.head[:0]
	return f.spend(n)
}

// end ends an element, and all arrays that end with it.
func (f *framing) end() {
	f.kind, f.head = 0, f.head[:0]
	for len(f.open) > 0 {
		last := len(f.open) - 1
		if f.open[last]--; f.open[last] > 0 {
			return
		}
		f.open = f.open[:last]
	}
	f.left = mostReply
}

func (f *framing) spend(n int) error {
	if f.left -= n; f.left < 0 {
		return fmt.Errorf("%w: a reply of more than %d bytes", errNonsense, mostReply)
	}
	return nil
}

// bounded is a connection that ends where a server says too much.
type bounded struct {
	net.Conn
	framing framing
}

func (c *bounded) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if wrong := c.framing.read(b[:n]); wrong != nil {
		return 0, wrong
	}
	return n, err
}

// boundedSocket is one that the library can ask whether the server has closed it.
type boundedSocket struct {
	bounded
	syscall.Conn
}

// dialing connects to an address.
type dialing func(ctx context.Context, network, addr string) (net.Conn, error)

// bounding returns what connects as dial does, to bounded connections.
func bounding(dial dialing) dialing {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		b := bounded{conn, newFraming()}
		if socket, is := conn.(syscall.Conn); is {
			return &boundedSocket{b, socket}, nil
		}
		return &b, nil
	}
}
