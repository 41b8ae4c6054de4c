package tracing

import (
	"context"
	"log/slog"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// watched logs once that a collector does not take spans, and once that it does again. It
// returns no errors: the SDK would give each to a handler that all of the process shares.
type watched struct {
	sdk.SpanExporter
	log      *slog.Logger
	endpoint string
	broken   bool // calls of ExportSpans never overlap
}

// ExportSpans implements sdk.SpanExporter.
func (w *watched) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := w.SpanExporter.ExportSpans(ctx, spans)
	switch {
	case err != nil && !w.broken:
		w.log.Warn("traces do not reach the collector: spans are lost until they do",
			"endpoint", w.endpoint, "spans", len(spans), "error", err)
	case err == nil && w.broken:
		w.log.Info("traces reach the collector again", "endpoint", w.endpoint)
	}
	w.broken = err != nil
	return nil
}
