package gateway

import (
	"bytes"
	"context"
	"log"
	"log/slog"
)

// errorLog writes the lines of net/http's servers to a structured log. Most tell what clients do wrong, as many
// times as they like, so that these are for debugging.
type errorLog struct{ to *slog.Logger }

func newErrorLog(to *slog.Logger) *log.Logger { return log.New(errorLog{to}, "", 0) }

// Write implements io.Writer.
func (l errorLog) Write(line []byte) (int, error) {
	l.to.Log(context.Background(), levelOf(line), string(bytes.TrimSpace(line)))
	return len(line), nil
}

func levelOf(line []byte) slog.Level {
	switch {
	case bytes.Contains(line, []byte("panic serving")):
		return slog.LevelError
	case bytes.HasPrefix(line, []byte("http: Accept error")):
		return slog.LevelWarn
	default:
		return slog.LevelDebug
	}
}
