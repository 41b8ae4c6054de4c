package nginxlab

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
)

// line is a line of nginx's log without its time, level and process.
type line struct {
	connection string // a number; empty if it is about none
	text       string
}

// log is what nginx writes to its error log, as it comes.
type log struct {
	lines chan line
}

// newLog reads from r until it ends.
func newLog(r io.Reader) *log {
	l := &log{make(chan line)}
	go func() {
		defer close(l.lines)
		scanner := bufio.NewScanner(r)
		for scanner.Scan() {
			l.lines <- parseLine(scanner.Text())
		}
	}()
	return l
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
	select {
	case next, ok := <-l.lines:
		return next, ok
	case <-deadline.C:
		return line{}, false
	}
}

// drain reads what is left, so that nginx can end.
func (l *log) drain() {
	for range l.lines {
		continue
	}
}

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
