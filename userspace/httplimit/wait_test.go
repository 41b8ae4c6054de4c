package httplimit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/httplimit"
)

// bubble is a server and its client in memory, so that synctest sees when all of both are waiting, and that none of
// their goroutines is left.
type bubble struct {
	server
	began  time.Time
	passed chan time.Duration // when each request passed the middleware
	left   chan time.Duration // when each request left it
}

// in serves next, limited by h, in a bubble of its own.
func in(t *testing.T, p protocol, h config.HTTP, next http.Handler, test func(*testing.T, bubble)) {
	synctest.Test(t, func(t *testing.T) {
		test(t, begin(t, p, func(b bubble) http.Handler {
			return httplimit.New(rulesOf(t, h), options{Clock: b.now})(b.tell(next))
		}))
	})
}

// begin serves a handler, in the bubble that it is called in, until the test ends.
func begin(t *testing.T, p protocol, handler func(bubble) http.Handler) bubble {
	b := bubble{began: time.Now(), passed: make(chan time.Duration, 100), left: make(chan time.Duration, 100)}
	h := handler(b)
	listener := memory{make(chan net.Conn), make(chan struct{})}
	spoken := new(http.Protocols)
	spoken.SetHTTP1(p == http1)
	spoken.SetUnencryptedHTTP2(p == h2c)
	s := &http.Server{Protocols: spoken, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { b.left <- b.now() }()
		h.ServeHTTP(w, r)
	})}
	go func() { _ = s.Serve(listener) }()
	t.Cleanup(func() { s.Close() })
	transport := &http.Transport{Protocols: spoken, DialContext: listener.dial}
	t.Cleanup(transport.CloseIdleConnections)
	b.server = server{t, "http://memory", &http.Client{Transport: transport}}
	return b
}

// tell returns next that tells when it is called.
func (b bubble) tell(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.passed <- b.now()
		next.ServeHTTP(w, r)
	})
}

func (b bubble) now() time.Duration { return time.Since(b.began) }

// memory is a listener for connections that are in memory.
type memory struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (m memory) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	m.conns <- server
	return client, nil
}

func (m memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

func (m memory) Close() error   { close(m.closed); return nil }
func (m memory) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

// leave sends r and leaves after 300ms.
func (b bubble) leave(r *http.Request) {
	b.t.Helper()
	ctx, leave := context.WithTimeout(b.t.Context(), 300*time.Millisecond)
	defer leave()
	res, err := b.client.Do(r.WithContext(ctx))
	if !errors.Is(err, context.DeadlineExceeded) {
		b.t.Errorf("error %v", err)
	}
	if err == nil {
		res.Body.Close()
	}
}

// queue delays all of a burst of 5 at one request a second, and has 3 slots. Connections in memory have no
// address, so that all requests have one key.
func queue() config.HTTP {
	all := []config.KeyPart{{Kind: config.KeyConst, Name: "all"}}
	return delaying(5,
		config.Zone{Name: "queue", Key: all, Algorithm: config.Leaky, Quota: quota(1, time.Second)},
		config.Zone{Name: "slots", Key: all, Algorithm: config.Concurrent, Slots: 3})
}

func TestDelay(t *testing.T) {
	for _, p := range []protocol{http1, h2c} {
		t.Run(string(p), func(t *testing.T) {
			in(t, p, queue(), new(passing), func(t *testing.T, b bubble) {
				var all sync.WaitGroup
				for range 4 { // the first passes at once, the others occupy the slots
					all.Go(func() { b.get("/") })
					synctest.Wait()
				}
				if res := b.get("/"); res.status != 429 || res.header.Get("Retry-After") != "1" || b.now() != 0 {
					t.Errorf("with the slots occupied: %d at %v, Retry-After %q", res.status, b.now(), res.header.Get("Retry-After"))
				}
				for i := range 4 {
					if got, want := <-b.passed, time.Duration(i)*time.Second; got != want {
						t.Errorf("request %d passed at %v, want %v", i, got, want)
					}
				}
				all.Wait()
			})
		})
	}
}

// A client that leaves ends its request at that moment. Its slot is free, its charge stays.
func TestClientLeavesWhileDelayed(t *testing.T) {
	for _, c := range []struct {
		protocol
		method, body string
	}{
		{http1, "GET", ""}, {http1, "POST", "user=a"}, {http1, "POST", strings.Repeat("x", 16<<10)},
		{h2c, "GET", ""}, {h2c, "POST", "user=a"}, {h2c, "POST", strings.Repeat("x", 100<<10)},
	} {
		t.Run(fmt.Sprintf("%s %s %d", c.protocol, c.method, len(c.body)), func(t *testing.T) {
			in(t, c.protocol, queue(), new(passing), func(t *testing.T, b bubble) {
				b.get("/")
				<-b.passed
				<-b.left
				b.leave(b.request(c.method, "/", c.body))
				if left := <-b.left; left != 300*time.Millisecond {
					t.Errorf("the request left at %v", left)
				}
				res := b.get("/")
				if got, want := <-b.passed, 2*time.Second; got != want {
					t.Errorf("the next passed at %v, want %v", got, want)
				}
				checkHeader(t, res, "RateLimit", `"queue";r=3;t=1, "slots";r=2`)
			})
		})
	}
}

// Where a body is too large to be read ahead, or not to be, the request waits to its end, and no longer.
func TestClientLeavesUnseen(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"large":   func(r *http.Request) { r.Body, r.ContentLength = endless(), 16<<10+1 },
		"unknown": func(r *http.Request) { r.Body, r.ContentLength = endless(), -1 },
		"expect":  func(r *http.Request) { r.Body, r.ContentLength = endless(), 10; r.Header.Set("Expect", "100-continue") },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, http1, queue(), http.NotFoundHandler(), func(t *testing.T, b bubble) {
				b.get("/")
				<-b.left
				r := b.request("POST", "/", "")
				change(r)
				b.leave(r)
				if left := <-b.left; left != time.Second {
					t.Errorf("the request left at %v", left)
				}
			})
		})
	}
}

// endless is a body that sends a byte and then waits until it is closed.
func endless() io.ReadCloser {
	in, out := io.Pipe()
	go func() { _, _ = out.Write([]byte("x")) }()
	return in
}

// A body is the same after a delay, however it is sent.
func TestBodyOfDelayed(t *testing.T) {
	for _, p := range []protocol{http1, h2c} {
		for _, size := range []int{0, 1, 1000, 16 << 10, 16<<10 + 1, 100 << 10} {
			for _, known := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s %d %t", p, size, known), func(t *testing.T) {
					want := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
					check := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
						got, err := io.ReadAll(r.Body)
						if !bytes.Equal(got, want) || err != nil {
							t.Errorf("the body has %d bytes, want %d; error %v", len(got), size, err)
						}
						if err := r.Body.Close(); err != nil {
							t.Error(err)
						}
					})
					in(t, p, queue(), check, func(t *testing.T, b bubble) {
						for range 3 {
							r := b.request("POST", "/", string(want))
							if !known {
								r.ContentLength = -1
							}
							res, err := b.client.Do(r)
							if err != nil {
								t.Fatal(err)
							}
							res.Body.Close()
						}
						if b.now() != 2*time.Second {
							t.Errorf("three requests took %v, want 2s", b.now())
						}
					})
				})
			}
		}
	}
}

// A body that comes later than the request's turn is waited for by who reads it, not by the middleware.
func TestBodyComesLate(t *testing.T) {
	next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		if r.Method == http.MethodPost && string(got) != "first, second" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
	in(t, http1, queue(), next, func(t *testing.T, b bubble) {
		b.get("/")
		<-b.passed
		<-b.left
		body, write := io.Pipe()
		go func() {
			_, _ = io.WriteString(write, "first, ")
			time.Sleep(3 * time.Second) // of the bubble's time
			_, _ = io.WriteString(write, "second")
			write.Close()
		}()
		r := b.request("POST", "/", "")
		r.Body, r.ContentLength = body, 13
		res, err := b.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if passed, left := <-b.passed, <-b.left; passed != time.Second || left != 3*time.Second {
			t.Errorf("the request passed at %v and left at %v, want 1s and 3s", passed, left)
		}
	})
}

// A body that others have wrapped is read by who wants it and by nobody else: what http.MaxBytesReader does to the
// response, once it finds the body too large, would be a race with the handler.
func TestBodyOfOthers(t *testing.T) {
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			return
		}
		time.Sleep(time.Second) // of the bubble's time; the body has come
		if connection := w.Header().Get("Connection"); connection != "" {
			t.Errorf("before the body is read: Connection %q", connection)
		}
		got, err := io.ReadAll(r.Body)
		var tooLarge *http.MaxBytesError
		if string(got) != "123" || !errors.As(err, &tooLarge) {
			t.Errorf("%q, %v", got, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, http1, func(b bubble) http.Handler {
			return http.MaxBytesHandler(httplimit.New(rulesOf(t, queue()), options{Clock: b.now})(next), 3)
		})
		b.get("/")
		if b.do(http.MethodPost, "/", "12345"); b.now() != 2*time.Second {
			t.Errorf("answered at %v", b.now())
		}
		time.Sleep(time.Second) // the server lingers before it closes a connection whose body it has not read
	})
}

// If somebody in front sets a deadline, the client is not told that all is well.
func TestDeadlineWhileDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var next passing
		limited := httplimit.New(rulesOf(t, queue()), options{})(&next)
		began := time.Now()
		var statuses []int
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			w := httptest.NewRecorder()
			limited.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx))
			cancel()
			statuses = append(statuses, w.Code)
		}
		if took := time.Since(began); took != 300*time.Millisecond || !slices.Equal(statuses, []int{200, 503}) || next.n.Load() != 1 {
			t.Errorf("statuses %v after %v, %d passed", statuses, took, next.n.Load())
		}
	})
}
