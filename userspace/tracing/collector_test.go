package tracing_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
	"github.com/headgate/headgate/userspace/tracing"
)

// receiver is a collector as OTLP over HTTP has it.
type receiver struct {
	mu    sync.Mutex
	path  string
	names []string // service and span
}

func (c *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request collector.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(body, &request) != nil || r.Header.Get("Content-Type") != "application/x-protobuf" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.path = r.URL.Path
	for _, rs := range request.ResourceSpans {
		var of []string
		for _, a := range rs.Resource.Attributes {
			of = append(of, a.Key+"="+a.Value.GetStringValue())
		}
		slices.Sort(of)
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				c.names = append(c.names, strings.Join(of, ",")+" "+s.Name)
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// Spans reach a collector, at the path of OTLP if the endpoint names none.
func TestCollector(t *testing.T) {
	for path, want := range map[string]string{"": "/v1/traces", "/": "/v1/traces", "/otel/traces": "/otel/traces"} {
		var c receiver
		server := httptest.NewServer(&c)
		p, err := tracing.New(&config.Tracing{Endpoint: server.URL + path, Ratio: 1}, tracing.Options{Version: "1.2.3"})
		if err != nil {
			t.Fatal(err)
		}
		d := p.Decider(&decides{})
		for range 3 {
			d.Decide(&ruleset.Request{}, 0)
		}
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		server.Close()
		span := "service.name=headgate,service.version=1.2.3 headgate.decide"
		if c.path != want || !slices.Equal(c.names, []string{span, span, span}) {
			t.Errorf("%q: at %s: %q", path, c.path, c.names)
		}
	}
}

// stalled is an exporter of a collector that takes connections and never answers.
type stalled struct{ arrived chan struct{} }

func (s stalled) ExportSpans(ctx context.Context, _ []sdk.ReadOnlySpan) error {
	s.arrived <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

func (stalled) Shutdown(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

// While a collector stalls, decisions go on at once, and the shutdown ends with its context.
func TestStalledCollector(t *testing.T) {
	var logged bytes.Buffer
	s := stalled{make(chan struct{}, 100)}
	p, err := tracing.New(&config.Tracing{Ratio: 1}, tracing.Options{Exporter: s, Log: logTo(&logged)})
	if err != nil {
		t.Fatal(err)
	}
	inner := &decides{}
	d := p.Decider(inner)
	for range 512 {
		d.Decide(&ruleset.Request{}, 0)
	}
	<-s.arrived // and stays there
	for range 100_000 {
		d.Decide(&ruleset.Request{}, 0)
	}
	if inner.asked != 100_512 {
		t.Errorf("%d decisions", inner.asked)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("shutdown: %v", err)
	}
}

// flaky fails as often as it is told to.
type flaky struct {
	kept
	fails int
}

func (f *flaky) ExportSpans(ctx context.Context, s []sdk.ReadOnlySpan) error {
	if f.fails--; f.fails >= 0 {
		return errors.New("connection refused")
	}
	return f.kept.ExportSpans(ctx, s)
}

// A collector that is away is logged once, and once when it is back.
func TestCollectorIsAway(t *testing.T) {
	var logged bytes.Buffer
	f := &flaky{fails: 3}
	w := tracing.Watch(f, "http://127.0.0.1:4318", logTo(&logged))
	for range 5 {
		if err := w.ExportSpans(t.Context(), make([]sdk.ReadOnlySpan, 7)); err != nil {
			t.Error(err)
		}
	}
	lines := strings.Split(strings.TrimSpace(logged.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "level=WARN") || !strings.Contains(lines[0], "connection refused") ||
		!strings.Contains(lines[1], "reach the collector again") {
		t.Errorf("%s", &logged)
	}
}

// What is not recorded costs a look into the header.
func BenchmarkDecide(b *testing.B) {
	for name, header := range map[string]http.Header{
		"no trace":      {},
		"not recorded":  {"Traceparent": {unsampled}},
		"recorded (1k)": {"Traceparent": {sampled}},
	} {
		p, err := tracing.New(&config.Tracing{}, tracing.Options{Exporter: &kept{}})
		if err != nil {
			b.Fatal(err)
		}
		d := p.Decider(&decides{})
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d.Decide(&ruleset.Request{Header: header}, time.Hour)
			}
		})
		if err := p.Shutdown(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
