package nginxlog

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/userspace/watch"
)

// Offence is a request or connection that nginx has refused.
type Offence struct {
	Client netip.Addr // never IPv4-mapped; invalid for a client on a unix socket
	Zone   string     // of limit_req or limit_conn
}

// Counters are what was seen in a log. They may be read at any time.
type Counters struct {
	Offences atomic.Uint64 // told
	Doubtful atomic.Uint64 // refusals that a client may have written, and that were not told
	Files    atomic.Uint64 // opened, the first and after each rotation
}

// Options are how a log is followed. The zero value is right for most.
type Options struct {
	// FromStart also reads what is in the file when Follow begins.
	FromStart bool
	// Log is told when a file cannot be read, and when it can again. nil for slog.Default.
	Log *slog.Logger
	// Counters are added to, if set.
	Counters *Counters
	// State is kept up to date, if set. It is of this log alone.
	State *State
}

// State is whether a log is read. The zero value is of one that nothing speaks against. It may be asked at any time.
type State struct{ problem atomic.Pointer[string] }

// Problem returns why the log is not read at present, and what to do about that; empty if it is.
func (s *State) Problem() string {
	if p := s.problem.Load(); p != nil {
		return *p
	}
	return ""
}

func (s *State) set(problem string) { s.problem.Store(&problem) }

const (
	// soon is how long the end of a log has to be the end for a record to be there as a whole. One is
	// written by one call, but a reader may see its beginning first.
	soon = 5 * time.Millisecond
	// pause is how long a log is left alone after a look, so that one that grows all the time is read in large pieces.
	pause = 2 * time.Millisecond
	// often is how often files that have been renamed are looked at, as nothing tells of them.
	often = 50 * time.Millisecond
	// seldom is how often the path is looked at, in case that nothing tells of a change.
	seldom = time.Second
)

// Follow calls found for each offence in the log at path until ctx ends, as `tail -F` follows it: the file need not be
// there yet, nor its directory, and may be renamed, removed, cut or replaced. What nginx writes to one that was renamed is
// read for 10 seconds more after there is a new one. It begins at the end of a file that is there, or
// that could not be opened for longer than that, and at the beginning of others. found is called by one goroutine.
//
// It returns nil when ctx ends, and an error only for an empty path.
func Follow(ctx context.Context, path string, o Options, found func(Offence)) error {
	if path == "" {
		return errors.New("no path of a log to follow")
	}
	f := newFollower(path, o, found)
	defer f.close()
	f.watch()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-f.notices.C():
		}
		timer.Reset(max(pause, f.look(ctx, time.Now())))
		if !sleep(ctx, pause) {
			return nil
		}
	}
}

// sleep waits, and reports whether ctx has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// watch has the kernel tell what happens. Without, files are looked at often.
func (f *follower) watch() {
	var err error
	if f.notices, err = watch.NewNotices(); err != nil {
		f.o.Log.Warn("a log is looked at often, as nothing tells when it grows", "path", f.path, "error", err)
	}
}

// watchFile has the kernel tell of what is at the path now, and watchDirectory of what comes into its directory. Only one
// of them is watched, as others may write into the directory all the time.
func (f *follower) watchFile() {
	f.notices.Remove(filepath.Dir(f.path))
	f.notices.Remove(f.path)  // another file than now
	_ = f.notices.Add(f.path) // if that fails, f.look is called seldom but called
}

func (f *follower) watchDirectory() {
	_ = f.notices.Add(filepath.Dir(f.path)) // it may not be there either
}
