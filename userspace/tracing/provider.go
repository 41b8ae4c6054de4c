package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
)

// Bounds on what waits for the collector. Spans beyond them are lost.
const (
	queue   = 2048 // spans, 1 MB or so
	batch   = 512  // spans
	every   = 2 * time.Second
	longest = 5 * time.Second // with retries
)

// scope is the name of what makes the spans.
const scope = "github.com/headgate/headgate/userspace/tracing"

// Options are what a Provider needs beside its configuration. The zero value is ready.
type Options struct {
	Version string
	// Log is told when the collector cannot be reached, and when it can again. nil for slog.Default.
	Log *slog.Logger
	// Exporter takes the spans in place of the collector.
	Exporter sdk.SpanExporter
	// Draw returns a number from 0 to 1, below which requests without a trace are given one. nil for a random one.
	Draw func() float64
	// Now is the clock by which spans that clients ask for are bounded. nil for time.Now.
	Now func() time.Time
}

// Provider records spans. A nil one records none and costs nothing. All methods may be called at the same time.
type Provider struct {
	tracer trace.Tracer
	sdk    *sdk.TracerProvider
	ratio  float64
	draw   func() float64
	now    func() time.Time
	asked  quota
}

// New returns a provider that sends spans to the collector of c, in batches and in a goroutine of its own; nil if c
// is. No connection is made yet: an error means that the endpoint is no URL. The caller must Shutdown it.
// Header fields for the collector are read from OTEL_EXPORTER_OTLP_HEADERS.
func New(c *config.Tracing, o Options) (*Provider, error) {
	if c == nil {
		return nil, nil
	}
	o = o.withDefaults()
	exporter := o.Exporter
	if exporter == nil {
		var err error
		if exporter, err = newExporter(c.Endpoint); err != nil {
			return nil, err
		}
	}
	p := sdk.NewTracerProvider(
		// Who comes here is sampled already.
		sdk.WithSampler(sdk.AlwaysSample()),
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "headgate"),
			attribute.String("service.version", o.Version),
		)),
		sdk.WithBatcher(&watched{SpanExporter: exporter, log: o.Log, endpoint: c.Endpoint},
			sdk.WithMaxQueueSize(queue), sdk.WithMaxExportBatchSize(batch),
			sdk.WithBatchTimeout(every), sdk.WithExportTimeout(longest)),
	)
	return &Provider{tracer: p.Tracer(scope), sdk: p, ratio: c.Ratio, draw: o.Draw, now: o.Now}, nil
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Draw == nil {
		o.Draw = rand.Float64
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func newExporter(endpoint string) (sdk.SpanExporter, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("tracing endpoint: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("tracing endpoint %q: not an http URL; use http://127.0.0.1:4318", endpoint)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces" // as OTLP has it for an endpoint of all signals
	}
	exporter, err := otlptracehttp.New(context.Background(),
		otlptracehttp.WithEndpointURL(u.String()),
		otlptracehttp.WithTimeout(longest),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: 500 * time.Millisecond, MaxInterval: 2 * time.Second, MaxElapsedTime: longest,
		}))
	if err != nil {
		return nil, fmt.Errorf("tracing endpoint %q: %w", endpoint, err)
	}
	return exporter, nil
}

// Decider returns one that decides as d does, and records it. It is d itself for a nil Provider.
func (p *Provider) Decider(d ruleset.Decider) ruleset.Decider {
	if p == nil {
		return d
	}
	return &decider{Decider: d, provider: p}
}

// Shutdown sends what waits, until ctx ends. Decisions after it are no longer recorded.
func (p *Provider) Shutdown(ctx context.Context) error {
	if p == nil {
		return nil
	}
	if err := p.sdk.Shutdown(ctx); err != nil {
		return fmt.Errorf("send the last spans: %w", err)
	}
	return nil
}
