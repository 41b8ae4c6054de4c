package httplimit_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/http/httputil"
	"net/textproto"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/httplimit"
)

// However a path is written, who reaches a handler of http.ServeMux by it has been charged to the limit of that handler.
func TestNoWayAroundByPath(t *testing.T) {
	mux := http.NewServeMux()
	handler := func(name string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Handler", name) }
	}
	mux.HandleFunc("/health", handler("health"))
	mux.HandleFunc("/api/{rest...}", handler("api"))
	mux.HandleFunc("/", handler("other"))
	h := one(0, perIP(1, time.Hour))
	h.Rules[0].Match.Path.Prefix = "/api/"
	h.Rules = append([]config.Rule{{Match: config.Match{Path: config.Pattern{Exact: "/health"}}}}, h.Rules...)
	reached := 0
	for _, path := range []string{
		"/api/x", "//api/x", "/./api/x", "/x/../api/y", "/%61pi/x", "/api/x/../../health", "/api/x%2f..%2f..%2fhealth",
		"/api/x%2F%2e%2e%2F%2E%2E%2Fhealth", "/api/..%2fhealth", "/api/x/..%2f../health", "/health%2f..%2fapi/x", "/api%2fx",
		"/api/%2e%2e%2fhealth", "/api/x;/..%2f..%2fhealth",
	} {
		limited := httplimit.New(rulesOf(t, h), options{})(mux)
		for i := range 2 {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			w := httptest.NewRecorder()
			limited.ServeHTTP(w, r)
			if w.Header().Get("Handler") != "api" {
				continue
			}
			reached++
			if i > 0 {
				t.Errorf("%s reaches the handler again", path)
			}
		}
	}
	if reached < 7 {
		t.Errorf("%d of the paths reach the handler at all", reached)
	}
}

// A response that follows others (103 Early Hints), or has no body by its nature, has the fields once.
func TestFieldsOfEachKindOfResponse(t *testing.T) {
	for _, c := range []struct {
		method string
		status int
	}{{http.MethodGet, 204}, {http.MethodGet, 304}, {http.MethodHead, 200}, {http.MethodOptions, 200}, {http.MethodGet, 307}, {http.MethodGet, 500}} {
		for _, p := range protocols() {
			t.Run(fmt.Sprintf("%s/%s %d", p, c.method, c.status), func(t *testing.T) {
				next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(http.StatusEarlyHints)
					w.WriteHeader(c.status)
				})
				s := serve(t, p, httplimit.New(rulesOf(t, one(0, perIP(1, time.Minute), slotsPerIP(3))), options{})(next))
				s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
				hints := 0
				trace := &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error { hints++; return nil }}
				r := s.request(c.method, "/", "")
				res, err := s.client.Do(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				want := []string{`"perip";r=0;t=60, "slots";r=2`}
				if got := res.Header.Values("RateLimit"); res.StatusCode != c.status || hints != 1 || !slices.Equal(got, want) {
					t.Errorf("status %d after %d hints, RateLimit %q", res.StatusCode, hints, got)
				}
				if res := s.do(c.method, "/", ""); res.status != http.StatusTooManyRequests {
					t.Errorf("status %d of the second", res.status)
				}
			})
		}
	}
}

// The list of draft10 goes on with what a backend says of its own limits.
func TestFieldsOfABackend(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("RateLimit", `"backend";r=1`)
	}))
	t.Cleanup(backend.Close)
	target, err := url.Parse(backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	s := serve(t, http1, httplimit.New(rulesOf(t, one(3, perIP(1, time.Second))), new(clock).options(options{}))(proxy))
	want := []string{`"perip";r=3;t=1`, `"backend";r=1`}
	if got := s.get("/").header.Values("RateLimit"); !slices.Equal(got, want) {
		t.Errorf("RateLimit %q, want %q", got, want)
	}
}

// A request that a http.TimeoutHandler in front has answered occupies its slot until its handler returns.
func TestTimeoutInFront(t *testing.T) {
	entered, proceed, released := make(chan struct{}), make(chan struct{}), make(chan struct{})
	limited := httplimit.New(rulesOf(t, one(0, slotsPerIP(1))), options{})(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-proceed
		_, _ = io.WriteString(w, "too late")
	}))
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limited.ServeHTTP(w, r)
		if r.URL.Path == "/slow" {
			close(released)
		}
	})
	s := serve(t, http1, http.TimeoutHandler(inner, time.Nanosecond, ""))
	ended := make(chan int)
	go func() { ended <- s.get("/slow").status }()
	select {
	case <-entered:
	case status := <-ended: // before the handler began, which it does all the same
		go func() { ended <- status }()
		<-entered
	}
	if status := <-ended; status != http.StatusServiceUnavailable {
		t.Errorf("status %d", status)
	}
	direct := httptest.NewRequest(http.MethodGet, "/", nil)
	direct.RemoteAddr = "127.0.0.1:1"
	for range 10 { // decisions that are refused come and go meanwhile
		w := httptest.NewRecorder()
		if limited.ServeHTTP(w, direct); w.Code != http.StatusTooManyRequests {
			t.Fatalf("status %d while the handler goes on", w.Code)
		}
	}
	close(proceed)
	<-released
	entered, proceed = make(chan struct{}), make(chan struct{})
	close(proceed)
	w := httptest.NewRecorder()
	if limited.ServeHTTP(w, direct); w.Code != http.StatusOK {
		t.Errorf("status %d after the handler has returned", w.Code)
	}
}

// What a http.TimeoutHandler behind leaves running has no slot, and cannot give that of another back.
func TestTimeoutBehind(t *testing.T) {
	sl := newSlots(1)
	proceed, done := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer close(done)
		<-proceed
		if _, _, err := http.NewResponseController(w).Hijack(); err == nil {
			t.Error("hijacked")
		}
		_, _ = io.WriteString(w, "too late")
	})
	s := serve(t, http1, sl.around(http.TimeoutHandler(slow, time.Nanosecond, "").ServeHTTP))
	if status := s.get("/").status; status != http.StatusServiceUnavailable {
		t.Errorf("status %d", status)
	}
	<-sl.released
	sl.checkFree(t, 1)
	other := sl.Take("everybody", 1, 0)
	close(proceed)
	<-done
	sl.checkFree(t, 0)
	sl.Refund("everybody", other, 0)
}
