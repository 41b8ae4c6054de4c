package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// conn is a connection of HTTP/1.1 on which the same is asked again and again. It costs its CPU little, so that servers
// are what is measured.
type conn struct {
	net.Conn
	request []byte
	buf     []byte
}

// requestFor returns a request as a client of few words sends it.
func requestFor(addr, path string) []byte {
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n", path, addr)
}

func dial(addr, path string, timeout time.Duration) (*conn, error) {
	c, err := net.DialTimeout("tcp4", addr, timeout)
	if err != nil {
		return nil, err
	}
	// What is on the way when a client ends is not sent again by nobody.
	if err := c.(*net.TCPConn).SetLinger(0); err != nil {
		c.Close()
		return nil, err
	}
	return &conn{c, requestFor(addr, path), make([]byte, 0, 4<<10)}, nil
}

// answer is what a response says.
type answer struct {
	status int
	marked bool // by RateLimit, the field that tells a client its limit
	text   []byte
}

// ask asks, and returns what is answered until the deadline. The text is valid until the next call.
func (c *conn) ask(deadline time.Time) (answer, error) {
	if err := c.SetReadDeadline(deadline); err != nil {
		return answer{}, err
	}
	if _, err := c.Write(c.request); err != nil {
		return answer{}, err
	}
	c.buf = c.buf[:0]
	for {
		n, err := c.Read(c.buf[len(c.buf):cap(c.buf)])
		if err != nil {
			return answer{}, err
		}
		c.buf = c.buf[:len(c.buf)+n]
		length, err := lengthOf(c.buf)
		if err != nil {
			return answer{}, err
		}
		if length == len(c.buf) {
			return parseAnswer(c.buf)
		}
		if length > 0 && length < len(c.buf) || len(c.buf) == cap(c.buf) {
			return answer{}, fmt.Errorf("a response is too long: %q", c.buf)
		}
	}
}

var (
	errNoLength = errors.New("a response has no Content-Length")
	headerEnd   = []byte("\r\n\r\n")
	lengthField = []byte("\r\nContent-Length: ")
	limitField  = []byte("\r\nRatelimit: ")
)

// lengthOf returns how long a response is that begins with text; 0 if that is not known yet.
func lengthOf(text []byte) (int, error) {
	header := bytes.Index(text, headerEnd)
	if header < 0 {
		return 0, nil
	}
	at := bytes.Index(text[:header], lengthField)
	if at < 0 {
		return 0, errNoLength
	}
	body := 0
	for _, digit := range text[at+len(lengthField) : header+1] {
		if digit < '0' || digit > '9' {
			break
		}
		body = 10*body + int(digit-'0')
	}
	return header + len(headerEnd) + body, nil
}

func parseAnswer(text []byte) (answer, error) {
	const version = "HTTP/1.1 "
	if len(text) < len(version)+3 || string(text[:len(version)]) != version {
		return answer{}, fmt.Errorf("no response: %q", text)
	}
	status, err := strconv.Atoi(string(text[len(version) : len(version)+3]))
	if err != nil {
		return answer{}, fmt.Errorf("no status: %q", text)
	}
	return answer{status, bytes.Contains(text, limitField), text}, nil
}

// fields returns the header fields of an answer, name and value.
func (a answer) fields() (all [][2]string, body string) {
	header, body, _ := strings.Cut(string(a.text), string(headerEnd))
	for _, line := range strings.Split(header, "\r\n")[1:] {
		name, value, _ := strings.Cut(line, ": ")
		all = append(all, [2]string{name, value})
	}
	return all, body
}
