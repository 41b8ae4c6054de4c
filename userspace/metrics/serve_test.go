package metrics_test

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/metrics"
	"github.com/headgate/headgate/userspace/ruleset"
)

func textLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}

func get(h http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestFormats(t *testing.T) {
	h := metrics.NewMux(metrics.New(full()))
	for accept, want := range map[string]string{
		"":                         "text/plain",
		"text/plain;version=0.0.4": "text/plain",
		"application/openmetrics-text;version=1.0.0":                                                 "application/openmetrics-text",
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited": "application/vnd.google.protobuf",
	} {
		w := get(h, "GET", "/metrics", "Accept", accept)
		if got := w.Header().Get("Content-Type"); w.Code != 200 || !strings.HasPrefix(got, want) {
			t.Errorf("Accept %q: %d %s", accept, w.Code, got)
		}
	}
	body := get(h, "GET", "/metrics", "Accept", "application/openmetrics-text;version=1.0.0").Body.String()
	if !strings.HasSuffix(body, "# EOF\n") || !strings.Contains(body, "# TYPE headgate_http_requests counter\n") {
		t.Error("not OpenMetrics:", body[:200])
	}
	for _, name := range []string{"go_goroutines ", "process_open_fds ", `headgate_build_info{`} {
		if !strings.Contains(body, "\n"+name) {
			t.Errorf("no %s", name)
		}
	}
}

// Four scrapes at a time are served, the next is told to come again, and there is room again after them.
func TestScrapesAtATime(t *testing.T) {
	s := full()
	arrived, leave := make(chan struct{}), make(chan struct{})
	working := s.Kernel
	s.Kernel = func() (*metrics.Kernel, error) {
		arrived <- struct{}{}
		<-leave
		return working()
	}
	h := metrics.New(s).Handler()
	var served atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if get(h, "GET", "/metrics").Code == 200 {
				served.Add(1)
			}
		})
		<-arrived
	}
	if got := get(h, "GET", "/metrics").Code; got != 503 {
		t.Errorf("the fifth is answered %d", got)
	}
	close(leave)
	wg.Wait()
	if served.Load() != 4 {
		t.Errorf("%d of 4 served", served.Load())
	}
	go func() { <-arrived }()
	if got := get(h, "GET", "/metrics").Code; got != 200 {
		t.Errorf("afterwards %d", got)
	}
}

func TestHealth(t *testing.T) {
	var kernel error
	h := metrics.NewMux(metrics.New(metrics.Sources{}),
		metrics.Check{Name: "kernel", Ready: func() error { return kernel }},
		metrics.Check{Name: "upstream", Ready: func() error { return nil }})
	tests := []struct {
		kernel               error
		method, path, accept string
		code                 int
		body                 string
	}{
		{nil, "GET", "/healthz", "", 200, "ok\n"},
		{errors.New("x"), "GET", "/healthz", "", 200, "ok\n"},
		{nil, "POST", "/healthz", "", 405, "Method Not Allowed\n"},
		{nil, "GET", "/readyz", "", 200, "ready\n  kernel: ready\n  upstream: ready\n"},
		{errors.New("eth0 is not there"), "GET", "/readyz", "*/*", 503, "not ready\n  kernel: eth0 is not there\n  upstream: ready\n"},
		{nil, "GET", "/readyz", "application/json", 200,
			`{"ready":true,"checks":[{"name":"kernel","ready":true},{"name":"upstream","ready":true}]}` + "\n"},
		{errors.New("eth0"), "GET", "/readyz", "application/json", 503,
			`{"ready":false,"checks":[{"name":"kernel","ready":false,"reason":"eth0"},{"name":"upstream","ready":true}]}` + "\n"},
		{nil, "GET", "/", "", 404, "404 page not found\n"},
	}
	for _, test := range tests {
		kernel = test.kernel
		w := get(h, test.method, test.path, "Accept", test.accept)
		if w.Code != test.code || w.Body.String() != test.body {
			t.Errorf("%s %s (%s): %d %q", test.method, test.path, test.accept, w.Code, w.Body)
		}
	}
	if got := get(metrics.Readyz(), "GET", "/readyz", "Accept", "application/json").Body.String(); got != `{"ready":true,"checks":[]}`+"\n" {
		t.Errorf("without checks: %s", got)
	}
}

// A real limiter that saw many addresses, paths and headers exports the same series as before, and none of what clients sent.
func TestClientsMakeNoSeries(t *testing.T) {
	set, err := ruleset.New(config.HTTP{
		ClientIP: config.ClientIP{IPv4Prefix: 32, IPv6Prefix: 64},
		Zones: []config.Zone{{
			Name: "perip", Key: []config.KeyPart{{Kind: config.KeyIP}, {Kind: config.KeyPath}}, Algorithm: config.Leaky,
			Quota: config.Quota{Count: 1, Per: time.Second, Text: "1r/s"}, MaxKeys: 1000,
		}},
		Rules: []config.Rule{{Name: "all", Limits: []config.Use{{Cost: 1}}, Status: 429}},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := metrics.New(metrics.Sources{HTTP: set.Counters})
	before := strings.Count(exposition(t, m), "\n")
	for i := range 2000 {
		set.Decide(&ruleset.Request{
			Peer: netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)}), Method: "BREW", Host: "evil.example", Path: "/secret",
		}, time.Hour).Free(time.Hour)
	}
	after := exposition(t, m)
	if got := strings.Count(after, "\n"); got != before {
		t.Errorf("%d lines, and %d before", got, before)
	}
	for _, sent := range []string{"192.0", "BREW", "evil", "secret"} {
		if strings.Contains(after, sent) {
			t.Errorf("%s is exported", sent)
		}
	}
	if !strings.Contains(after, `headgate_http_rule_requests_total{outcome="allowed",rule="all"} 2000`) {
		t.Error(after)
	}
}

func BenchmarkObserveUpstream(b *testing.B) {
	m := metrics.New(full())
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			m.ObserveUpstream(200, time.Duration(i%1000)*time.Microsecond)
		}
	})
}

func BenchmarkScrape(b *testing.B) {
	h := metrics.New(full()).Handler()
	for b.Loop() {
		get(h, "GET", "/metrics")
	}
}
