package part

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// patience is how long an answer is waited for before the kernel is asked whether the request has arrived.
	patience = 5 * time.Millisecond
	// certain is how long a request must have been sent again without being acknowledged. Had it arrived
	// the other end, which is in the same kernel, would have acknowledged it.
	certain = 20 * time.Millisecond
	// longest is for what takes no time unless something is broken.
	longest = 10 * time.Second
)

// conn is an open connection to the proxy.
type conn struct {
	*net.TCPConn
	script  Script
	request []byte
	reader  *bufio.Reader
	cut     bool // its last request did not arrive

	sent   int64  // when the last request was
	resent uint32 // segments that had been sent again by then
}

func dial(s Script) (*conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: s.From.AsSlice()}, Timeout: longest}
	c, err := d.DialContext(context.Background(), "tcp", s.Server.String())
	if err != nil {
		return nil, err
	}
	return &conn{
		TCPConn: c.(*net.TCPConn), script: s, reader: bufio.NewReader(c),
		request: fmt.Appendf(nil, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", s.Server),
	}, nil
}

// ask sends a request.
func (c *conn) ask() error {
	info, err := c.info()
	if err != nil {
		return err
	}
	c.sent, c.resent = bootTime(), info.Total_retrans
	_, err = c.Write(c.request)
	return err
}

// answer waits for the answer, adds it to seen, and notes if none will come.
func (c *conn) answer(seen *Seen) error {
	arrived, err := c.await()
	switch {
	case err != nil:
		return err
	case !arrived:
		c.cut = true
		seen.Cut++
		if seen.CutSent == 0 || c.sent < seen.CutSent {
			seen.CutSent = c.sent
		}
		return nil
	}
	return c.read(seen)
}

// read reads an answer that has begun.
func (c *conn) read(seen *Seen) error {
	if err := c.SetReadDeadline(time.Now().Add(longest)); err != nil {
		return err
	}
	r, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return err
	}
	switch r.StatusCode {
	case http.StatusOK:
		seen.Passed++
	case http.StatusTooManyRequests:
		seen.Refused++
	}
	seen.Wrong = append(seen.Wrong, wrongWith(r.StatusCode, r.Header, c.script.Limit)...)
	return nil
}

// await waits until an answer begins, which is true, or until it is certain that the request did not arrive.
func (c *conn) await() (bool, error) {
	var resent time.Time
	for begin := time.Now(); time.Since(begin) < longest; {
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			return false, err
		}
		_, err := c.reader.Peek(1)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err == nil, err
		}
		lost, err := c.unacknowledged()
		switch {
		case err != nil:
			return false, err
		case !lost:
			resent = time.Time{}
		case resent.IsZero():
			resent = time.Now()
		case time.Since(resent) >= certain:
			return false, nil
		}
	}
	return false, fmt.Errorf("no answer from %s within %v to a request that has arrived", c.RemoteAddr(), longest)
}

// unacknowledged reports whether the last request was sent again, and is not acknowledged.
func (c *conn) unacknowledged() (bool, error) {
	info, err := c.info()
	if err != nil {
		return false, err
	}
	return info.Unacked > 0 && info.Total_retrans > c.resent, nil
}

// info is what the kernel knows of the connection.
func (c *conn) info() (info *unix.TCPInfo, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	control := raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
	return info, errors.Join(control, os.NewSyscallError("getsockopt TCP_INFO", err))
}

// abandon closes the connection at once: what has not arrived never will.
func (c *conn) abandon() {
	_ = c.SetLinger(0)
	_ = c.Close()
}
