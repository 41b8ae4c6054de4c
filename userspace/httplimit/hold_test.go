package httplimit_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/httplimit"
	"github.com/headgate/headgate/userspace/keyed"
)

// slots limits requests at a time, and tells when they are given back.
type slots struct {
	*keyed.Slots[string]
	released chan struct{}
}

func newSlots(n uint64) *slots {
	return &slots{keyed.NewSlots(n, keyed.Options[string]{Name: "slots"}), make(chan struct{}, 100)}
}

// around returns next, limited, that tells when a request has left the middleware.
func (s *slots) around(next http.HandlerFunc) http.Handler {
	limited := httplimit.Limit(s.Slots, everybody, options{})(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { s.released <- struct{}{} }()
		limited.ServeHTTP(w, r)
	})
}

func everybody(*http.Request) (string, bool) { return "everybody", true }

// free returns how many slots are free.
func (s *slots) free() uint64 { return s.Peek("everybody", 0, 0).Remaining }

func (s *slots) checkFree(t *testing.T, want uint64) {
	t.Helper()
	if got := s.free(); got != want {
		t.Errorf("%d slots are free, want %d", got, want)
	}
}

// A slot is given back once, however a handler ends.
func TestCase52HandlerEnds(t *testing.T) {
	for _, p := range protocols() {
		for _, c := range []struct {
			name   string
			handle http.HandlerFunc
			fails  bool
		}{
			{"returns", func(http.ResponseWriter, *http.Request) {}, false},
			{"writes", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") }, false},
			{"flushes", func(w http.ResponseWriter, _ *http.Request) { _ = http.NewResponseController(w).Flush() }, false},
			{"fails", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusInternalServerError) }, false},
			{"aborts", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, true},
			{"aborts late", func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "x")
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}, true},
		} {
			t.Run(string(p)+"/"+c.name, func(t *testing.T) {
				sl := newSlots(2)
				s := serve(t, p, sl.around(func(w http.ResponseWriter, r *http.Request) {
					sl.checkFree(t, 1)
					c.handle(w, r)
				}))
				for range 3 {
					res, err := s.client.Do(s.request(http.MethodGet, "/", ""))
					if err == nil {
						_, err = io.ReadAll(res.Body)
						res.Body.Close()
					}
					if c.fails != (err != nil) {
						t.Fatalf("error %v", err)
					}
					<-sl.released
					sl.checkFree(t, 2)
				}
			})
		}
	}
}

// A panic goes on with the value that it began with, and so does runtime.Goexit.
func TestPanicGoesOn(t *testing.T) {
	sl := newSlots(1)
	value := errors.New("mine")
	h := httplimit.Limit(sl.Slots, everybody, options{})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(value) }))
	func() {
		defer func() {
			if got := recover(); got != any(value) {
				t.Errorf("panic with %v, want %v", got, value)
			}
		}()
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	}()
	sl.checkFree(t, 1)

	gone := make(chan struct{})
	h = httplimit.Limit(sl.Slots, everybody, options{})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { runtime.Goexit() }))
	go func() {
		defer close(gone)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	}()
	<-gone
	sl.checkFree(t, 1)
}

// Of many requests at a time, as many are let in as there are slots, and all slots come back.
func TestSlotsInParallel(t *testing.T) {
	const most, requests = 7, 50
	for _, p := range protocols() {
		t.Run(string(p), func(t *testing.T) {
			sl := newSlots(most)
			answered, proceed := make(chan int, requests), make(chan struct{})
			s := serve(t, p, sl.around(func(http.ResponseWriter, *http.Request) { <-proceed }))
			for range 3 {
				for range requests {
					go func() { answered <- s.get("/").status }()
				}
				for range requests - most {
					if status := <-answered; status != http.StatusTooManyRequests {
						t.Errorf("status %d while all slots are occupied", status)
					}
				}
				sl.checkFree(t, 0)
				for range most {
					proceed <- struct{}{}
				}
				for range most {
					if status := <-answered; status != http.StatusOK {
						t.Errorf("status %d of a request that was let in", status)
					}
				}
				for range requests {
					<-sl.released
				}
				sl.checkFree(t, most)
			}
		})
	}
}

// hijacking is a server whose handler takes the connection, hands it over and returns.
func hijacking(t *testing.T, sl *slots, wrap func(http.Handler) http.Handler) (server, chan net.Conn) {
	conns := make(chan net.Conn, 1)
	h := sl.around(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
		}
		if _, _, err := http.NewResponseController(w).Hijack(); !errors.Is(err, http.ErrHijacked) {
			t.Errorf("hijacked twice: %v", err)
		}
		conns <- conn
	})
	return serve(t, http1, wrap(h)), conns
}

// The slot of a hijacked connection is given back when that is closed, once, whoever is in front.
func TestCase51Hijack(t *testing.T) {
	for name, wrap := range map[string]func(http.Handler) http.Handler{
		"plain":            func(h http.Handler) http.Handler { return h },
		"behind an Unwrap": inFront(func(w http.ResponseWriter) http.ResponseWriter { return unwrapper{w} }),
		"behind two":       inFront(func(w http.ResponseWriter) http.ResponseWriter { return unwrapper{unwrapper{w}} }),
		"behind one with Flush": inFront(func(w http.ResponseWriter) http.ResponseWriter {
			return flushUnwrapper{unwrapper{w}, w.(http.Flusher)}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			sl := newSlots(3)
			s, conns := hijacking(t, sl, wrap)
			client := s.dial()
			if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			conn := <-conns
			<-sl.released // the handler has returned
			sl.checkFree(t, 2)
			checkTalks(t, conn, client)
			var closing sync.WaitGroup
			for range 4 {
				closing.Go(func() { conn.Close() })
			}
			closing.Wait()
			sl.checkFree(t, 3)
		})
	}
}

// The slots of a rule are given back once too: its decision is used again for other requests.
func TestCase51HijackUnderRules(t *testing.T) {
	conns := make(chan net.Conn, 2)
	limited := httplimit.New(rulesOf(t, one(0, slotsPerIP(1))), options{})(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
		}
		conns <- conn
	}))
	s := serve(t, http1, limited)
	var closed []net.Conn
	for range 20 {
		if _, err := io.WriteString(s.dial(), "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		conn := <-conns
		for _, c := range closed {
			c.Close() // again
		}
		if res := s.get("/"); res.status != http.StatusTooManyRequests {
			t.Fatalf("status %d while the connection is open", res.status)
		}
		conn.Close()
		closed = append(closed, conn)
	}
}

func inFront(wrap func(http.ResponseWriter) http.ResponseWriter) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(wrap(w), r) })
	}
}

type unwrapper struct{ http.ResponseWriter }

func (u unwrapper) Unwrap() http.ResponseWriter { return u.ResponseWriter }

type flushUnwrapper struct {
	unwrapper
	http.Flusher
}

// checkTalks checks that bytes pass both ways, and that a half-close does.
func checkTalks(t *testing.T, conn, client net.Conn) {
	t.Helper()
	go func() {
		_, _ = io.Copy(conn, conn)
		_ = conn.(interface{ CloseWrite() error }).CloseWrite()
	}()
	if _, err := io.WriteString(client, "echo"); err != nil {
		t.Fatal(err)
	}
	if err := client.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(client); string(got) != "echo" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// A hijacker that forgets to close a connection does not keep its slot.
func TestCase51HijackedAndForgotten(t *testing.T) {
	sl := newSlots(1)
	s := serve(t, http1, sl.around(func(w http.ResponseWriter, _ *http.Request) {
		if _, _, err := w.(http.Hijacker).Hijack(); err != nil {
			t.Error(err)
		}
	}))
	if _, err := io.WriteString(s.dial(), "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-sl.released
	for sl.free() == 0 { // until the collector has found it
		runtime.GC()
		runtime.Gosched()
	}
}

// A connection that cannot be hijacked is not made one that can, and what a writer has stays.
func TestWriterKeeps(t *testing.T) {
	for _, p := range protocols() {
		t.Run(string(p), func(t *testing.T) {
			sl := newSlots(1)
			s := serve(t, p, sl.around(func(w http.ResponseWriter, _ *http.Request) {
				_, hijacks := w.(http.Hijacker)
				_, reads := w.(io.ReaderFrom)
				_, pushes := w.(http.Pusher)
				_, flushes := w.(http.Flusher)
				if is1 := p == http1; hijacks != is1 || reads != is1 || pushes == is1 || !flushes {
					t.Errorf("Hijacker %t, ReaderFrom %t, Pusher %t, Flusher %t", hijacks, reads, pushes, flushes)
				}
				c := http.NewResponseController(w)
				if err := errors.Join(c.SetReadDeadline(time.Time{}), c.SetWriteDeadline(time.Time{}), c.EnableFullDuplex(), c.Flush()); err != nil {
					t.Error(err)
				}
			}))
			s.get("/")
		})
	}
}

// A writer that flushes still does when the Hijacker behind it is watched.
func TestWriterKeepsFlusher(t *testing.T) {
	for _, flushes := range []bool{false, true} {
		sl := newSlots(1)
		h := sl.around(func(w http.ResponseWriter, _ *http.Request) {
			f, ok := w.(http.Flusher)
			if ok != flushes {
				t.Errorf("Flusher %t, want %t", ok, flushes)
			}
			if ok {
				f.Flush()
			}
		})
		s := serve(t, http1, inFront(func(w http.ResponseWriter) http.ResponseWriter {
			if flushes {
				return flushUnwrapper{unwrapper{w}, w.(http.Flusher)}
			}
			return unwrapper{w}
		})(h))
		s.get("/")
	}
}
