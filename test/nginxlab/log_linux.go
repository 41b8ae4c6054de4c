package nginxlab

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// line is a line of nginx's log without its time, level and process.
type line struct {
	connection string // a number; empty if it is about none
	text       string
}

// log is what nginx writes to its error log. It is read as it comes, whether anybody wants it yet or not: nginx
// would stand still otherwise.
type log struct {
	mu    sync.Mutex
	lines []line        // that next has not returned yet
	more  chan struct{} // has an element if there may be lines, or the end
	ended chan struct{} // closed at the end
}

// newLog reads from r until it ends.
func newLog(r io.Reader) *log {
	l := &log{more: make(chan struct{}, 1), ended: make(chan struct{})}
	go func() {
		defer l.tell()
		defer close(l.ended)
		scanner := bufio.NewScanner(r)
		for scanner.Scan() {
			l.add(parseLine(scanner.Text()))
		}
	}()
	return l
}

func (l *log) add(one line) {
	l.mu.Lock()
	l.lines = append(l.lines, one)
	l.mu.Unlock()
	l.tell()
}

func (l *log) tell() {
	select {
	case l.more <- struct{}{}:
	default: // it has been told
	}
}

// parseLine reads a line such as
//
//	2026/01/02 03:04:05 [debug] 678#678: *9 limit_req[0]: 0 0.000
func parseLine(s string) line {
	_, text, ok := strings.Cut(s, "#")
	if !ok {
		return line{text: s} // from before the log is open
	}
	_, text, _ = strings.Cut(text, ": ")
	if rest, ok := strings.CutPrefix(text, "*"); ok {
		connection, text, _ := strings.Cut(rest, " ")
		return line{connection, text}
	}
	return line{text: text}
}

// next returns the next line, and false if there is none: nginx has ended or has
// been silent for longer than patience.
func (l *log) next() (line, bool) {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		ended := l.hasEnded()
		if first, ok := l.take(); ok || ended {
			return first, ok
		}
		select {
		case <-l.more:
		case <-deadline.C:
			return line{}, false
		}
	}
}

// take returns the first line that there is.
func (l *log) take() (first line, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == 0 {
		return first, false
	}
	first, l.lines = l.lines[0], l.lines[1:]
	return first, true
}

func (l *log) hasEnded() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// drain returns when all is read, so that the pipe may be closed.
func (l *log) drain() { <-l.ended }

// await reads lines until the one that has is true for, and fails the test if there is none.
func (s *Server) await(what string, has func(line) bool) {
	s.tb.Helper()
	for {
		l, ok := s.log.next()
		if !ok {
			s.tb.Fatalf("nginx's log ends, or is silent for %v, before %s; the last lines:\n%s", patience, what, s.tail())
		}
		s.remember(l)
		if isClosed(l, l.connection) {
			s.closed[l.connection] = true
		}
		if has(l) {
			return
		}
	}
}

// isClosed reports whether l tells that a connection is closed.
func isClosed(l line, connection string) bool {
	return l.connection == connection && strings.HasPrefix(l.text, "close http connection: ")
}

// isClosed reports whether a line so far told that the connection of a is closed.
func (s *Server) isClosed(a *Answer) bool { return s.closed[a.connection] }

// remembered is how many of the latest lines an error message has.
const remembered = 50

func (s *Server) remember(l line) {
	if len(s.seen) == 2*remembered {
		s.seen = append(s.seen[:0], s.seen[remembered:]...)
	}
	s.seen = append(s.seen, l)
}

// tail returns the latest lines for an error message.
func (s *Server) tail() string {
	var b strings.Builder
	for _, l := range s.seen[max(0, len(s.seen)-remembered):] {
		fmt.Fprintf(&b, "%s: %s\n", l.connection, l.text)
	}
	return b.String()
}
