package httplimit_test

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
)

// clock stands still unless it is moved. Its zero value begins at 0.
type clock struct{ ns atomic.Int64 }

func (c *clock) now() time.Duration      { return time.Duration(c.ns.Load()) }
func (c *clock) advance(d time.Duration) { c.ns.Add(int64(d)) }

// options returns o with this clock.
func (c *clock) options(o options) options {
	o.Clock = c.now
	return o
}

// protocol is a version of HTTP as it is spoken on the wire.
type protocol string

const (
	http1 protocol = "HTTP/1.1"
	http2 protocol = "HTTP/2.0"     // over TLS
	h2c   protocol = "HTTP/2.0 h2c" // without
)

func protocols() []protocol { return []protocol{http1, http2, h2c} }

// server is a server on 127.0.0.1 and its client.
type server struct {
	t      *testing.T
	url    string
	client *http.Client
}

// serve serves h until the test ends, and then waits for all requests.
func serve(t *testing.T, p protocol, h http.Handler) server {
	t.Helper()
	checked := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if want, _, _ := strings.Cut(string(p), " "); r.Proto != want {
			t.Errorf("the request is %s, want %s", r.Proto, want)
		}
		h.ServeHTTP(w, r)
	})
	s := httptest.NewUnstartedServer(checked)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of clients that leave
	client := &http.Client{}
	switch p {
	case http2:
		s.EnableHTTP2 = true
		s.StartTLS()
		client = s.Client()
	case h2c:
		only := new(http.Protocols)
		only.SetUnencryptedHTTP2(true)
		s.Config.Protocols = only
		s.Start()
		client.Transport = &http.Transport{Protocols: only}
	default:
		s.Start()
		client.Transport = &http.Transport{}
	}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		s.Close()
	})
	return server{t, s.URL, client}
}

// response is a response that was read to its end.
type response struct {
	status int
	header http.Header
	body   string
}

func (s server) get(path string, header ...string) response {
	s.t.Helper()
	return s.do(http.MethodGet, path, "", header...)
}

// do sends a request with the given header, names and values by turns.
func (s server) do(method, path, body string, header ...string) response {
	s.t.Helper()
	r := s.request(method, path, body, header...)
	res, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	read, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response{res.StatusCode, res.Header, string(read)}
}

func (s server) request(method, path, body string, header ...string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

// passing counts the requests that reach it.
type passing struct{ n atomic.Int64 }

func (p *passing) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	p.n.Add(1)
	_, _ = io.WriteString(w, "passed")
}

// retryAfter returns the Retry-After of a response.
func (r response) retryAfter(t *testing.T) time.Duration {
	t.Helper()
	n, err := strconv.ParseUint(r.header.Get("Retry-After"), 10, 32)
	if err != nil || n == 0 {
		t.Fatalf("Retry-After %q of status %d: want whole seconds, at least 1", r.header.Get("Retry-After"), r.status)
	}
	return time.Duration(n) * time.Second
}

func rulesOf(t *testing.T, h config.HTTP) *ruleset.Set {
	t.Helper()
	set, err := ruleset.New(h)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func byIP() []config.KeyPart { return []config.KeyPart{{Kind: config.KeyIP}} }

// perIP is a zone of a leaky bucket for each address.
func perIP(count uint64, per time.Duration) config.Zone {
	return config.Zone{Name: "perip", Key: byIP(), Algorithm: config.Leaky, Quota: quota(count, per)}
}

func quota(count uint64, per time.Duration) config.Quota {
	return config.Quota{Count: count, Per: per, Text: strconv.FormatUint(count, 10) + " in " + per.String()}
}

func slotsPerIP(n uint64) config.Zone {
	return config.Zone{Name: "slots", Key: byIP(), Algorithm: config.Concurrent, Slots: n}
}

// one is a configuration of one rule that uses each zone with that burst, none of it delayed.
func one(burst uint64, zones ...config.Zone) config.HTTP {
	rule := config.Rule{Name: "all", Status: http.StatusTooManyRequests}
	for i := range zones {
		rule.Limits = append(rule.Limits, config.Use{Zone: i, Burst: burst, Delay: burst, Cost: 1})
	}
	return config.HTTP{Zones: zones, Rules: []config.Rule{rule}}
}

// delaying is one, with all of the burst delayed.
func delaying(burst uint64, zones ...config.Zone) config.HTTP {
	h := one(burst, zones...)
	for i := range h.Rules[0].Limits {
		h.Rules[0].Limits[i].Delay = 0
	}
	return h
}

// dial opens a connection to s.
func (s server) dial() net.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	return conn
}
