package tracing

import (
	"log/slog"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// Watch returns e with its failures logged.
func Watch(e sdk.SpanExporter, endpoint string, log *slog.Logger) sdk.SpanExporter {
	return &watched{SpanExporter: e, endpoint: endpoint, log: log}
}
