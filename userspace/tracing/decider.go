package tracing

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/headgate/headgate/userspace/ruleset"
)

// The canonical names of the fields of W3C Trace Context: which trace a request belongs to, and what its vendors say of it.
const (
	traceparent = "Traceparent"
	tracestate  = "Tracestate"
)

// decider records what another one decides.
type decider struct {
	ruleset.Decider
	provider *Provider
}

// Decide implements ruleset.Decider.
func (d *decider) Decide(r *ruleset.Request, now time.Duration) *ruleset.Decision {
	parent := d.provider.parent(r.Header)
	begins := !parent.IsValid()
	if !d.provider.records(parent) {
		return d.Decider.Decide(r, now)
	}
	ctx := trace.ContextWithRemoteSpanContext(context.Background(), parent)
	ctx, span := d.provider.tracer.Start(ctx, "headgate.decide")
	defer span.End()
	decision := d.Decider.Decide(r, now)
	span.SetAttributes(attributes(decision)...)
	if begins && r.Header != nil {
		delete(r.Header, tracestate) // of no trace
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(r.Header))
	}
	return decision
}

// parent returns the span that the request says it comes from; not a valid one if there is none.
func (p *Provider) parent(h http.Header) trace.SpanContext {
	if len(h[traceparent]) == 0 {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(h))
	return trace.SpanContextFromContext(ctx)
}

// records reports whether a decision about a request with this parent is recorded.
func (p *Provider) records(parent trace.SpanContext) bool {
	if !parent.IsValid() {
		return p.draw() < p.ratio
	}
	return parent.IsSampled() && p.asked.take(p.now())
}

// attributes returns what a span says. All texts are names in the configuration.
func attributes(d *ruleset.Decision) []attribute.KeyValue {
	all := make([]attribute.KeyValue, 0, 7)
	all = append(all, attribute.Bool("headgate.allowed", d.Allowed))
	if d.Rule != "" {
		all = append(all, attribute.String("headgate.rule", d.Rule), attribute.String("headgate.zone", d.Zone))
	}
	if d.Status != 0 {
		all = append(all, attribute.Int("headgate.status", d.Status))
	}
	if d.Delay > 0 {
		all = append(all, attribute.Float64("headgate.delay_seconds", d.Delay.Seconds()))
	}
	if d.DryRun {
		all = append(all, attribute.Bool("headgate.dry_run", true))
	}
	if d.Store != ruleset.NotShared {
		all = append(all, attribute.String("headgate.store", d.Store.String()))
	}
	return all
}
