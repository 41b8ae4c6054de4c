package config

import (
	"log/slog"
	"slices"
)

// The values of Log.Format.
const (
	LogText = "text"
	LogJSON = "json"
)

func logFormats() []string { return []string{LogText, LogJSON} }

func logLevels() []string { return []string{"debug", "info", "warn", "error"} }

func (w *whole) readLog(v value) {
	m, ok := v.mapping(logFields())
	if !ok {
		return
	}
	levels := []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}
	w.Log = Log{
		Format: m.choice("format", logFormats(), LogText),
		Level:  levels[slices.Index(logLevels(), m.choice("level", logLevels(), "info"))],
		File:   m.filePath("file"),
	}
}

// defaultRatio of requests is enough to see what is slow, and costs little.
const defaultRatio = 0.01

func (w *whole) readTracing(v value) {
	m, ok := v.mapping(tracingFields())
	if !ok {
		return
	}
	t := &Tracing{Ratio: m.decimal("ratio", 0, 1, defaultRatio)}
	w.Tracing = t
	e := m.field("endpoint")
	if !e.given() {
		m.lack(v, `no endpoint; add endpoint: "http://127.0.0.1:4318"`)
		return
	}
	if text, ok := e.text(); ok {
		if u, ok := e.url(text); ok {
			t.Endpoint = u.String()
		}
	}
}
