package gateway

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Another server is tried where that cannot do anything twice.
func TestRetries(t *testing.T) {
	refused, reset := unreachable{errors.New("refused")}, errors.New("reset")
	slow := timeoutError{errors.New("slow")}
	tests := map[string]struct {
		method, body string
		first        func(*http.Request) (*http.Response, error)
		tries        int
		status       int
		retryAfter   string
	}{
		"unreachable, GET":                {"GET", "", failing(refused), 2, 200, ""},
		"unreachable, POST":               {"POST", "", failing(refused), 2, 200, ""},
		"unreachable, POST with body":     {"POST", "b", failing(refused), 2, 200, ""},
		"unreachable after body was read": {"POST", "b", readingFirst(refused), 1, 503, retryUnreachable},
		"reset, GET":                      {"GET", "", failing(reset), 2, 200, ""},
		"reset, HEAD":                     {"HEAD", "", failing(reset), 2, 200, ""},
		"reset, GET with body":            {"GET", "b", failing(reset), 1, 502, ""},
		"reset, POST":                     {"POST", "", failing(reset), 1, 502, ""},
		"reset, PUT":                      {"PUT", "b", failing(reset), 1, 502, ""},
		"timeout, GET":                    {"GET", "", failing(slow), 1, 504, ""},
		"error status":                    {"GET", "", answering(500), 1, 500, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			// "b" is the first by turns.
			f := &fakeServers{answer: map[string]func(*http.Request) (*http.Response, error){"a": answering(200), "b": tt.first}}
			var observed []int
			p := newTestProxy(t, upstream(servers(t, "a", "b")...), ProxyOptions{Transport: f,
				Observe: func(status int, _ time.Duration) { observed = append(observed, status) }})
			g := answer(p, sent(tt.method, tt.body))
			if n := len(f.taken()); n != tt.tries || g.status != tt.status || g.header.Get("Retry-After") != tt.retryAfter {
				t.Errorf("status %d, Retry-After %q after %d tries; want %d, %q after %d",
					g.status, g.header.Get("Retry-After"), n, tt.status, tt.retryAfter, tt.tries)
			}
			if d := cmp.Diff([]int{tt.status}, observed); d != "" {
				t.Error(d)
			}
			if tt.status > 501 && g.header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("content type %q, body %q", g.header.Get("Content-Type"), g.body)
			}
		})
	}
}

// However many servers there are, a request that breaks them breaks no more than three.
func TestTriesAreBounded(t *testing.T) {
	f := &fakeServers{answer: map[string]func(*http.Request) (*http.Response, error){}}
	names := []string{"a", "b", "c", "d", "e"}
	for _, n := range names {
		f.set(n, failing(errors.New("broken")))
	}
	p := newTestProxy(t, upstream(servers(t, names...)...), ProxyOptions{Transport: f})
	g := answer(p, sent("GET", ""))
	if asked := f.taken(); len(asked) != mostTries || g.status != http.StatusBadGateway {
		t.Errorf("status %d, asked %v", g.status, asked)
	}
}

// What the client does not do is not the server's fault.
func TestClientsFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		err    error
		status int
	}{
		"stalled":   {timeoutError{errors.New("stalled")}, http.StatusRequestTimeout},
		"left":      {io.ErrUnexpectedEOF, http.StatusBadRequest},
		"too large": {&http.MaxBytesError{Limit: 1}, http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeServers{answer: map[string]func(*http.Request) (*http.Response, error){"a": readingFirst(errors.New("write failed"))}}
			log := new(logged)
			p := newTestProxy(t, upstream(servers(t, "a")...), ProxyOptions{Transport: f, Log: log.logger(),
				Observe: func(status int, _ time.Duration) {
					if status != StatusClientGone {
						t.Errorf("observed %d", status)
					}
				}})
			r := sent("POST", "b")
			r.Body = io.NopCloser(brokenReader{tt.err})
			if g := answer(p, r); g.status != tt.status {
				t.Errorf("status %d, want %d", g.status, tt.status)
			}
			if s := p.Servers()[0]; s.Failures != 0 || s.Requests != 1 || s.InFlight != 0 || log.String() != "" {
				t.Errorf("%+v, log %q", s, log)
			}
		})
	}
}

type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }
