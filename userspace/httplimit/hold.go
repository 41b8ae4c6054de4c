package httplimit

import (
	"bufio"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/felixge/httpsnoop"

	"github.com/headgate/headgate/userspace/ruleset"
)

// hold is what a request holds until its response has ended.
type hold struct {
	release  func() // does something only once
	hijacked atomic.Bool
}

// holds reports whether something has to be given back after d.
func holds(d *ruleset.Decision) bool {
	for i := range d.Limits {
		if isSlots(&d.Limits[i]) {
			return true
		}
	}
	return false
}

// isSlots reports whether a limits requests at a time.
func isSlots(a *ruleset.Applied) bool { return a.Window == 0 }

func newHold(release func()) *hold { return &hold{release: sync.OnceFunc(release)} }

// handlerEnded is for after the handler has returned or panicked. That is the end of the
// response, unless the connection is the handler's own now.
func (h *hold) handlerEnded() {
	if !h.hijacked.Load() {
		h.release()
	}
}

// follow returns w, made to tell h if the connection is hijacked. The rest of w is as it was, also what only
// some writers have.
func (h *hold) follow(w http.ResponseWriter) http.ResponseWriter {
	if _, ok := w.(http.Hijacker); ok {
		return httpsnoop.Wrap(w, httpsnoop.Hooks{
			Hijack: func(next httpsnoop.HijackFunc) httpsnoop.HijackFunc {
				return func() (net.Conn, *bufio.ReadWriter, error) { return h.hijack(next) }
			},
		})
	}
	if !hidesHijacker(w) {
		return w
	}
	u := unwrapped{w, h}
	if f, ok := w.(http.Flusher); ok {
		return flushing{u, f}
	}
	return u
}

func (h *hold) hijack(hijack func() (net.Conn, *bufio.ReadWriter, error)) (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := hijack()
	if err != nil {
		return conn, buffered, err
	}
	h.hijacked.Store(true)
	return releasing(conn, h.release), buffered, nil
}

// unwrapper is a writer that http.ResponseController looks into.
type unwrapper interface{ Unwrap() http.ResponseWriter }

// hidesHijacker reports whether http.ResponseController finds a http.Hijacker behind w.
func hidesHijacker(w http.ResponseWriter) bool {
	for {
		u, ok := w.(unwrapper)
		if !ok {
			return false
		}
		w = u.Unwrap()
		if _, ok := w.(http.Hijacker); ok {
			return true
		}
	}
}

// unwrapped is a writer whose Hijack http.ResponseController finds before that of the writer behind it.
type unwrapped struct {
	http.ResponseWriter
	hold *hold
}

// Unwrap is for http.ResponseController.
func (u unwrapped) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// Hijack implements http.Hijacker.
func (u unwrapped) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return u.hold.hijack(http.NewResponseController(u.ResponseWriter).Hijack)
}

type flushing struct {
	unwrapped
	http.Flusher
}
