package logging

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// Log is where log lines go. Its settings change while loggers made of it are in use; all
// methods may be called at the same time.
type Log struct {
	out   *output
	level slog.LevelVar
	base  atomic.Pointer[slog.Handler]
}

// New returns a log by c, or an error and none. Lines go to stderr where c names no file, and also what is wrong with the file.
func New(c config.Log, stderr io.Writer) (*Log, error) {
	l := &Log{out: &output{stderr: stderr, now: time.Now}}
	if err := l.Set(c); err != nil {
		return nil, err
	}
	return l, nil
}

// Set changes the settings, and opens the file, which is created with mode 0640 if there is none: whether its name has changed
// or not, as whoever rotates logs wants it. If that fails nothing is changed.
func (l *Log) Set(c config.Log) error {
	if err := l.out.open(c.File); err != nil {
		return err
	}
	l.level.Set(c.Level)
	var h slog.Handler
	options := &slog.HandlerOptions{Level: &l.level, ReplaceAttr: readable}
	if c.Format == "json" {
		h = slog.NewJSONHandler(l.out, options)
	} else {
		h = slog.NewTextHandler(l.out, options)
	}
	l.base.Store(&h)
	return nil
}

// readable writes durations as people do, "1.5s", also in JSON, where slog has a number without a unit.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// Logger returns a logger that follows all later changes of the settings.
func (l *Log) Logger() *slog.Logger { return slog.New(handler{log: l}) }

// Lost returns how many lines could not be written so far.
func (l *Log) Lost() uint64 { return l.out.lost.Load() }

// Close closes the file. Lines that come later go to stderr.
func (l *Log) Close() error { return l.out.open("") }

// handler hands lines to the log's present handler, after what With and WithGroup added.
type handler struct {
	log   *Log
	added []func(slog.Handler) slog.Handler
}

func (h handler) current() slog.Handler {
	base := *h.log.base.Load()
	for _, add := range h.added {
		base = add(base)
	}
	return base
}

// Enabled implements slog.Handler.
func (h handler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.log.level.Level()
}

// Handle implements slog.Handler. Its error is always nil.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	h.log.tellLost(ctx, r.Time)
	_ = h.current().Handle(ctx, r) // the output counts what it loses
	return nil
}

// tellLost says in the log how many lines it lost. Where that line is lost too, the next one says so.
func (l *Log) tellLost(ctx context.Context, at time.Time) {
	n := l.out.untold.Swap(0)
	if n == 0 {
		return
	}
	lost := l.Lost()
	r := slog.NewRecord(at, slog.LevelError, "lines of this log were lost", 0)
	r.Add("lines", n)
	_ = (*l.base.Load()).Handle(ctx, r)
	if l.Lost() != lost {
		l.out.untold.Add(n)
	}
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.with(func(base slog.Handler) slog.Handler { return base.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	return h.with(func(base slog.Handler) slog.Handler { return base.WithGroup(name) })
}

func (h handler) with(add func(slog.Handler) slog.Handler) slog.Handler {
	return handler{h.log, append(h.added[:len(h.added):len(h.added)], add)}
}
