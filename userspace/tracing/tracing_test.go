package tracing_test

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
	"github.com/headgate/headgate/userspace/tracing"
)

// decides gives the same answer to everything.
type decides struct {
	decision ruleset.Decision
	asked    int
}

func (d *decides) Decide(*ruleset.Request, time.Duration) *ruleset.Decision {
	d.asked++
	return &d.decision
}

// kept is an exporter that keeps spans.
type kept struct {
	mu    sync.Mutex
	spans []sdk.ReadOnlySpan
}

func (k *kept) ExportSpans(_ context.Context, s []sdk.ReadOnlySpan) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.spans = append(k.spans, s...)
	return nil
}

func (*kept) Shutdown(context.Context) error { return nil }

const (
	sampled   = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
)

// record returns the spans of decisions about requests with these headers.
func record(t *testing.T, ratio, draw float64, d ruleset.Decision, headers ...http.Header) []sdk.ReadOnlySpan {
	t.Helper()
	var k kept
	p, err := tracing.New(&config.Tracing{Ratio: ratio}, tracing.Options{Exporter: &k, Draw: func() float64 { return draw }})
	if err != nil {
		t.Fatal(err)
	}
	inner := &decides{decision: d}
	decider := p.Decider(inner)
	for _, h := range headers {
		if got := decider.Decide(&ruleset.Request{Header: h}, 0); got != &inner.decision {
			t.Error("another decision is returned")
		}
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if inner.asked != len(headers) {
		t.Errorf("%d decisions about %d requests", inner.asked, len(headers))
	}
	return k.spans
}

func TestSampling(t *testing.T) {
	tests := map[string]struct {
		header      string
		ratio, draw float64
		spans       int
		begins      bool
	}{
		"a recorded trace":                      {sampled, 0, 0.5, 1, false},
		"a trace that is not recorded":          {unsampled, 1, 0, 0, false},
		"none, and the draw says no":            {"", 0.01, 0.01, 0, false},
		"none, and the draw says yes":           {"", 0.01, 0.0099, 1, true},
		"none, ratio 1":                         {"", 1, 0.9999, 1, true},
		"none, ratio 0":                         {"", 0, 0, 0, false},
		"what is no trace is none":              {"00-zz-1-01", 1, 0, 1, true},
		"what is no trace is none, and no span": {"00-zz-1-01", 0, 0, 0, false},
	}
	for name, test := range tests {
		h := http.Header{"Tracestate": {"vendor=1"}}
		if test.header != "" {
			h["Traceparent"] = []string{test.header}
		}
		before := maps.Clone(h)
		spans := record(t, test.ratio, test.draw, ruleset.Decision{Allowed: true}, h)
		if len(spans) != test.spans {
			t.Errorf("%s: %d spans, want %d", name, len(spans), test.spans)
			continue
		}
		if !test.begins {
			if diff := cmp.Diff(before, h); diff != "" {
				t.Errorf("%s: the header is changed: %s", name, diff)
			}
			continue
		}
		c := spans[0].SpanContext()
		want := http.Header{"Traceparent": {"00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-01"}}
		if diff := cmp.Diff(want, h); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if spans[0].Parent().IsValid() {
			t.Errorf("%s: a trace that begins has a parent", name)
		}
	}
}

// A request of a trace has its span below the one that it comes from, and its header is left alone.
func TestParent(t *testing.T) {
	spans := record(t, 0, 0, ruleset.Decision{Allowed: true}, http.Header{"Traceparent": {sampled}})
	if got := spans[0].SpanContext().TraceID().String(); got != sampled[3:35] {
		t.Errorf("trace %s", got)
	}
	if got := spans[0].Parent(); got.SpanID().String() != sampled[36:52] || !got.IsRemote() {
		t.Errorf("parent %v", got)
	}
}

// A request without a header has nowhere to put a trace, and is recorded all the same.
func TestWithoutHeader(t *testing.T) {
	if got := record(t, 1, 0, ruleset.Decision{Allowed: true}, nil); len(got) != 1 {
		t.Errorf("%d spans", len(got))
	}
}

func TestAttributes(t *testing.T) {
	tests := map[string]struct {
		decision ruleset.Decision
		want     map[string]any
	}{
		"allowed": {ruleset.Decision{Allowed: true}, map[string]any{"headgate.allowed": true}},
		"refused": {
			ruleset.Decision{Status: 429, Rule: "login", Zone: "perip", RetryAfter: time.Second},
			map[string]any{"headgate.allowed": false, "headgate.rule": "login", "headgate.zone": "perip", "headgate.status": int64(429)},
		},
		"delayed": {
			ruleset.Decision{Allowed: true, Delay: 250 * time.Millisecond, Rule: "r", Zone: "z"},
			map[string]any{"headgate.allowed": true, "headgate.rule": "r", "headgate.zone": "z", "headgate.delay_seconds": 0.25},
		},
		"dry run": {
			ruleset.Decision{Allowed: true, DryRun: true, Rule: "r", Zone: "z"},
			map[string]any{"headgate.allowed": true, "headgate.rule": "r", "headgate.zone": "z", "headgate.dry_run": true},
		},
		"without the store": {
			ruleset.Decision{Allowed: true, Store: ruleset.Local},
			map[string]any{"headgate.allowed": true, "headgate.store": "local"},
		},
	}
	for name, test := range tests {
		span := record(t, 1, 0, test.decision, http.Header{})[0]
		got := make(map[string]any)
		for _, a := range span.Attributes() {
			got[string(a.Key)] = a.Value.AsInterface()
		}
		if diff := cmp.Diff(test.want, got); diff != "" || span.Name() != "headgate.decide" {
			t.Errorf("%s: %s (-want +got):\n%s", name, span.Name(), diff)
		}
	}
}

// Clients that say that everything is recorded get a thousand spans a second of it, and decisions all the same.
func TestAskedFor(t *testing.T) {
	var k kept
	now := time.Unix(1_790_000_000, 0)
	p, err := tracing.New(&config.Tracing{}, tracing.Options{Exporter: &k, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	inner := &decides{}
	d := p.Decider(inner)
	for i := range 5000 {
		if i == 4500 {
			now = now.Add(time.Second)
		}
		d.Decide(&ruleset.Request{Header: http.Header{"Traceparent": {sampled}}}, 0)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(k.spans) != 1500 || inner.asked != 5000 {
		t.Errorf("%d spans of %d decisions, want 1500 of 5000", len(k.spans), inner.asked)
	}
}

func TestOff(t *testing.T) {
	p, err := tracing.New(nil, tracing.Options{})
	if p != nil || err != nil {
		t.Fatal(p, err)
	}
	d := &decides{}
	if got := p.Decider(d); got != d {
		t.Error("a decider around the decider")
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestWrongEndpoint(t *testing.T) {
	for endpoint, want := range map[string]string{
		"127.0.0.1:4318": "tracing endpoint",
		"grpc://a:4317":  `tracing endpoint "grpc://a:4317": not an http URL; use http://127.0.0.1:4318`,
		"":               "not an http URL",
		"http://":        "not an http URL",
	} {
		if _, err := tracing.New(&config.Tracing{Endpoint: endpoint}, tracing.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
}

func logTo(b *bytes.Buffer) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }
