package e2e_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// problem is a body of RFC 9457.
type problem struct {
	Title  string
	Status int
	Detail string
}

// wantProblem checks that a response says in JSON what is wrong.
func (r response) wantProblem(tb testing.TB, status int) {
	tb.Helper()
	var p problem
	if err := json.Unmarshal([]byte(r.body), &p); err != nil || p.Status != status || p.Detail == "" {
		tb.Errorf("the body is %q, %v", r.body, err)
	}
	if got := r.header.Get("Content-Type"); r.status != status || got != "application/problem+json" {
		tb.Errorf("status %d of type %q, want %d", r.status, got, status)
	}
}

// A backend that is down is left out, and /readyz says so; clients are told as a problem. It comes back when it is well.
func TestAgentBackendDown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ok := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }
	b := s.startBackend(ok)
	a := s.start(strings.Replace(unlimited, `["http://127.0.0.1:9000"]`,
		`{servers: ["http://127.0.0.1:9000"], health: {path: /health, interval: 50ms, timeout: 50ms, failures: 2, successes: 2}}`, 1))
	client := s.browser(modest)
	ready := func() int { return s.local("9090").get("/readyz").status }
	for n := range 2 {
		if r := client.get("/"); r.status != http.StatusOK {
			t.Fatalf("status %d", r.status)
		}
		b.stop()
		if r := client.get("/"); r.status != http.StatusBadGateway { // it was on a connection that broke
			r.wantProblem(t, http.StatusServiceUnavailable)
		}
		r := client.get("/")
		r.wantProblem(t, http.StatusServiceUnavailable)
		if r.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		await(t, "/readyz saying so", func() bool { return ready() == http.StatusServiceUnavailable })
		if got := s.metric("headgate_upstream_healthy"); got != 0 {
			t.Errorf("headgate_upstream_healthy is %v", got)
		}
		if got := s.local("9090").get("/healthz").status; got != http.StatusOK {
			t.Errorf("/healthz has %d: the agent itself is well", got)
		}
		b.start(ok)
		await(t, "/readyz being well", func() bool { return ready() == http.StatusOK })
		await(t, "lines of the log", func() bool { return len(a.lines("taken back")) == n+1 })
		a.wantLines(n+1, "left out")
	}
}

// A backend that takes a connection and answers with nothing is a bad gateway, and one that does not answer in time
// is one too.
func TestAgentBackendBroken(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" {
			<-r.Context().Done()
		}
		panic(http.ErrAbortHandler)
	})
	s.start(strings.Replace(unlimited, `["http://127.0.0.1:9000"]`, `{servers: ["http://127.0.0.1:9000"], timeout: 200ms}`, 1))
	s.browser(modest).get("/").wantProblem(t, http.StatusBadGateway)
	s.browser(modest).get("/late").wantProblem(t, http.StatusGatewayTimeout)
}

// While the backend is slow the rates of zones and of the kernel go down together, and come back.
func TestAgentAdapts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var late atomic.Bool
	s.startBackend(func(w http.ResponseWriter, _ *http.Request) {
		if late.Load() {
			time.Sleep(60 * time.Millisecond)
		}
		_, _ = io.WriteString(w, "ok")
	})
	a := s.start(strings.Replace(unlimited, "metrics:", `kernel: {interfaces: [IFACE], max_sources: 4096, default: {rate: 1Mpps, burst: 100k}}
adaptive: {latency: {percentile: 50, target: 30ms}, interval: 100ms, increase: 0.2, decrease: 0.5, floor: 0.1}
http:
  zones: {perip: {key: ip, rate: 100000r/s}}
  rules: [{limits: [{zone: perip, burst: 100000, nodelay: true}]}]
metrics:`, 1))
	load := s.startLoad(4)
	await(t, "requests", func() bool { return load.sent.Load() > 100 })
	s.wantRates("100000r/s", "1Mpps")
	late.Store(true)
	await(t, "the factor being at the floor", func() bool { return s.metric("headgate_adaptive_factor") == 0.1 })
	s.wantRates("10000r/s (100000r/s x 0.1)", "100kpps")
	if status, err := s.admin().Status(t.Context()); err != nil || status.Adaptive == nil || status.Adaptive.Factor != 0.1 {
		t.Errorf("the status is %+v, %v", status.Adaptive, err)
	}
	a.awaitLine("rates adapted")
	late.Store(false)
	await(t, "the factor being 1 again", func() bool { return s.metric("headgate_adaptive_factor") == 1 })
	s.wantRates("100000r/s", "1Mpps")
	load.end()
}

// wantRates checks the rates of the zone and of the kernel's default limit, which follow a moment later.
func (s *site) wantRates(zone, kernel string) {
	s.tb.Helper()
	type zoneJSON struct{ Rate string }
	await(s.tb, "rates of "+zone+" and "+kernel, func() bool {
		var zones []zoneJSON
		if err := json.Unmarshal([]byte(s.must("zones", "-o", "json").stdout), &zones); err != nil || len(zones) != 1 {
			s.tb.Fatalf("zones are %v, %v", zones, err)
		}
		policies := s.policies()
		return zones[0].Rate == zone && len(policies) == 1 && policies[0].Rate == kernel
	})
}

// Of two backends the one that is well gets what the other one cannot answer.
func TestAgentBackendFailsOver(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first := s.startBackend(nil)
	second := &backend{site: s, addr: "127.0.0.1:9001"}
	second.start(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "second") }))
	t.Cleanup(second.stop)
	s.start(strings.Replace(unlimited, `["http://127.0.0.1:9000"]`, `["http://127.0.0.1:9000", "http://127.0.0.1:9001"]`, 1))
	load := s.startLoad(2)
	await(t, "requests", func() bool { return load.sent.Load() > 50 })
	first.stop()
	before := load.sent.Load()
	await(t, "more requests", func() bool { return load.sent.Load() > before+200 || t.Failed() })
	load.end()
	if r := s.browser(modest).get("/"); r.body != "second" {
		t.Errorf("answered by %q", r.body)
	}
	if got := s.local("9090").get("/readyz").status; got != http.StatusOK {
		t.Errorf("/readyz has %d", got)
	}
}
