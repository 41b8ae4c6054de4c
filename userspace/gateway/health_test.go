package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/userspace/config"
)

// Requests go to the server with the fewest, and by turns where all have as many.
func TestLeastInFlight(t *testing.T) {
	release := make(chan bool)
	f := &fakeServers{answer: map[string]func(*http.Request) (*http.Response, error){
		"a": answering(200), "c": answering(200),
		"b": func(r *http.Request) (*http.Response, error) { <-release; return answering(200)(r) },
	}}
	p := newTestProxy(t, upstream(servers(t, "a", "b", "c")...), ProxyOptions{Transport: f})
	wait := background(func() { answer(p, sent("GET", "")) }) // b is first
	for p.Servers()[1].InFlight == 0 {
		time.Sleep(time.Millisecond)
	}
	f.taken()
	for range 6 {
		answer(p, sent("GET", ""))
	}
	if d := cmp.Diff([]string{"c", "a", "c", "c", "a", "c"}, f.taken()); d != "" {
		t.Errorf("%s", d)
	}
	close(release)
	wait()
}

// Without a path to ask, a server that cannot be reached is left out, tried with one request an interval,
// and taken back when it answers. Requests do not suffer.
func TestPassiveHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServers{answer: map[string]func(*http.Request) (*http.Response, error){"a": answering(200), "b": failing(unreachable{errors.New("refused")})}}
		u := upstream(servers(t, "a", "b")...)
		u.Health = config.Health{Failures: 2, Interval: 10 * time.Second}
		var changes []string
		p := newTestProxy(t, u, ProxyOptions{Transport: f, Changed: func(s string, ok bool) { changes = append(changes, fmt.Sprint(s, " ", ok)) }})
		count := func(requests int) (b int) {
			t.Helper()
			for range requests {
				if g := answer(p, sent("GET", "")); g.status != http.StatusOK {
					t.Errorf("status %d", g.status)
				}
			}
			for _, host := range f.taken() {
				if host == "b" {
					b++
				}
			}
			return b
		}
		if n := count(20); n != 2 {
			t.Errorf("tried %d times, want 2", n)
		}
		time.Sleep(10 * time.Second)
		if n := count(20); n != 1 {
			t.Errorf("tried %d times after the interval, want once", n)
		}
		f.set("b", answering(200))
		time.Sleep(10 * time.Second)
		if n := count(20); n < 9 {
			t.Errorf("asked %d times when it is back", n)
		}
		if d := cmp.Diff([]string{"http://b false", "http://b true"}, changes); d != "" {
			t.Error(d)
		}
	})
}

// An answer of 5xx is a failure, and the server one that answers.
func TestFailuresOfAServer(t *testing.T) {
	for status, want := range map[int]uint64{200: 0, 404: 0, 499: 0, 500: 1, 503: 1} {
		u := upstream(servers(t, "a")...)
		u.Health = config.Health{Failures: 1}
		p := newTestProxy(t, u, ProxyOptions{Transport: &fakeServers{answer: map[string]func(*http.Request) (*http.Response, error){"a": answering(status)}}})
		answer(p, sent("GET", ""))
		if s := p.Servers()[0]; s.Failures != want || s.Requests != 1 || !s.Healthy {
			t.Errorf("%d: %+v, want %d failures", status, s, want)
		}
	}
}

// With a path, only its answers take a server back, after so many; and all being left out, all are tried.
func TestActiveHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServers{answer: map[string]func(*http.Request) (*http.Response, error){"a": answering(503)}}
		u := upstream(servers(t, "a")...)
		u.Health = config.Health{Path: "/healthz", Failures: 3, Successes: 2, Interval: 10 * time.Second, Timeout: time.Second}
		log := new(logged)
		p := newTestProxy(t, u, ProxyOptions{Transport: f, Log: log.logger()})
		ctx, cancel := context.WithCancel(t.Context())
		wait := background(func() { p.Run(ctx) })
		healthy := func(after time.Duration, want bool) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if s := p.Servers()[0]; s.Healthy != want {
				t.Errorf("%+v after %v", s, after)
			}
		}
		healthy(11*time.Second, true) // checks at 0 and 10 s
		healthy(10*time.Second, false)
		if g := answer(p, sent("GET", "")); g.status != http.StatusServiceUnavailable {
			t.Errorf("status %d of the only server", g.status)
		}
		healthy(0, false)
		f.set("a", answering(302))
		healthy(10*time.Second, false)
		healthy(10*time.Second, true)
		f.set("a", func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() })
		healthy(32*time.Second, false)
		u.Health.Path = ""
		if err := p.Replace(u); err != nil {
			t.Error(err)
		}
		f.taken()
		time.Sleep(time.Minute)
		if asked := f.taken(); len(asked) > 0 {
			t.Errorf("asked %d times without a path", len(asked))
		}
		cancel()
		wait()
		if n := strings.Count(log.String(), "\n"); n != 3 {
			t.Errorf("%d lines: %s", n, log)
		}
	})
}

// Servers that stay keep their state and counts.
func TestReplace(t *testing.T) {
	f := &fakeServers{answer: map[string]func(*http.Request) (*http.Response, error){"a": answering(200), "b": answering(200)}}
	p := newTestProxy(t, upstream(servers(t, "a")...), ProxyOptions{Transport: f})
	answer(p, sent("GET", ""))
	if err := p.Replace(upstream(servers(t, "b", "a")...)); err != nil {
		t.Fatal(err)
	}
	answer(p, sent("GET", ""))
	answer(p, sent("GET", ""))
	want := []ServerState{{Name: "http://b", Healthy: true, Requests: 1}, {Name: "http://a", Healthy: true, Requests: 2}}
	if d := cmp.Diff(want, p.Servers()); d != "" {
		t.Error(d)
	}
	if err := p.Replace(config.Upstream{}); err == nil {
		t.Error("no error for no servers")
	}
	if d := cmp.Diff(want, p.Servers()); d != "" {
		t.Error(d)
	}
}

// A server that goes and comes back, with real connections, costs no request while another is there.
func TestServerRestarts(t *testing.T) {
	stable := backend(t, who)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	where := l.Addr().String()
	s := &http.Server{Handler: http.HandlerFunc(who)}
	wait := background(func() { _ = s.Serve(l) })
	p := newTestProxy(t, upstream(stable, parse(t, "http://"+where)), ProxyOptions{})
	at, c := serveProxy(t, p), client(t, &http.Transport{})
	var bad atomic.Int64
	ask := func() {
		for range 50 {
			if g := do(t, c, http.MethodPost, at, "body"); g.status != http.StatusOK {
				bad.Add(1)
			}
		}
	}
	ask()
	_ = s.Shutdown(t.Context())
	wait()
	// Otherwise a request could be on its way on a connection when the server closes it.
	p.pool.Load().transport.(*http.Transport).CloseIdleConnections()
	ask()
	if n := bad.Load(); n > 0 {
		t.Errorf("%d of 100 requests failed", n)
	}
	if states := p.Servers(); states[1].Healthy || states[1].Failures != defaultFailures {
		t.Errorf("%+v", states)
	}
}

// A real connection that is refused is 503 and not 502: nothing was sent, and it may be better soon.
func TestBackendDown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	log := new(logged)
	at := serveProxy(t, newTestProxy(t, upstream(parse(t, "http://"+l.Addr().String())), ProxyOptions{Log: log.logger()}))
	c := client(t, &http.Transport{})
	for range 10 {
		g := do(t, c, http.MethodGet, at, "")
		if g.status != http.StatusServiceUnavailable || g.header.Get("Retry-After") != retryUnreachable ||
			g.body != `{"title":"Service Unavailable","status":503,"detail":"No server can be reached. Try again later."}`+"\n" {
			t.Errorf("%+v", g)
		}
	}
	if n := strings.Count(log.String(), "no answer from the upstream"); n == 0 || n == 10 {
		t.Errorf("%d lines for 10 requests: %s", n, log)
	}
}
