package nginxlog

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/headgate/headgate/userspace/watch"
)

const (
	// grace is how long a file is read on after it was replaced.
	grace = 10 * time.Second
	// mostOld is how many such files there are at a time, mostZones how many names are kept, and
	// pieces is how many bytes are read in a call.
	mostOld   = 4
	mostZones = 1024
	pieces    = 64 << 10
)

// follower follows what is at one path. It is used by one goroutine.
type follower struct {
	path  string
	o     Options
	found func(Offence)

	now   *tail   // the latest file; nil before there is one
	old   []ended // what was there before
	gone  time.Time
	begun bool // the path was looked at once
	// denied is since when there is a file that cannot be opened; the zero time where that is not so.
	denied time.Time
	err    string            // why it is not read, told once; empty if it is
	zones  map[string]string // names, so that each is allocated once
	chunk  []byte

	notices *watch.Notices // nil if there are none
}

// ended is a file that was replaced, and is read until then.
type ended struct {
	*tail
	until time.Time
}

func newFollower(path string, o Options, found func(Offence)) *follower {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Counters == nil {
		o.Counters = new(Counters)
	}
	if o.State == nil {
		o.State = new(State)
	}
	return &follower{path: path, o: o, found: found, zones: make(map[string]string), chunk: make([]byte, pieces)}
}

// look reads all that is new, and returns when to look again if nothing is told before.
func (f *follower) look(ctx context.Context, now time.Time) time.Duration {
	f.turn(now)
	wait := seldom
	if f.notices == nil || !f.gone.IsZero() && now.Sub(f.gone) < grace {
		wait = often
	}
	for _, t := range f.old {
		wait = min(wait, often, f.drain(ctx, t.tail, now))
	}
	if f.now != nil {
		wait = min(wait, f.drain(ctx, f.now, now))
	}
	f.old = slices.DeleteFunc(f.old, func(t ended) bool {
		over := now.After(t.until)
		if over {
			t.close()
		}
		return over
	})
	return wait
}

// turn opens what is at the path if that is another file than before.
func (f *follower) turn(now time.Time) {
	info, err := os.Stat(f.path)
	switch {
	case err == nil && f.now != nil && os.SameFile(info, f.now.info):
		f.gone, f.denied = time.Time{}, time.Time{}
		return
	case err == nil:
		f.open(now)
	default:
		f.denied = time.Time{}
		f.missing(now, err)
		if _, err := os.Stat(f.path); err == nil { // since before the directory was watched
			f.open(now)
		}
	}
	f.begun = true
}

// missing notes that there is no file.
func (f *follower) missing(now time.Time, err error) {
	if f.gone.IsZero() {
		f.gone = now
	}
	f.watchDirectory()
	rotated := f.now != nil && errors.Is(err, fs.ErrNotExist) && now.Sub(f.gone) < grace
	if !rotated { // nginx is about to make it anew
		f.complain(err)
	}
}

// open opens what is at the path.
func (f *follower) open(now time.Time) {
	t, err := open(f.path)
	if err == nil && f.isPast(now) && !f.o.FromStart {
		if err = t.skip(); err != nil {
			t.close()
		}
	}
	if err != nil {
		if f.denied.IsZero() {
			f.denied = now
		}
		f.missing(now, err)
		return
	}
	f.denied = time.Time{}
	t.found, t.doubtful = f.tell, func() { f.o.Counters.Doubtful.Add(1) }
	if f.now != nil {
		f.retire(now)
	}
	f.now, f.gone = t, time.Time{}
	f.o.Counters.Files.Add(1)
	f.watchFile()
}

// isPast reports whether what is in a file that can be opened now is too long ago to count.
func (f *follower) isPast(now time.Time) bool {
	if f.denied.IsZero() {
		return !f.begun
	}
	return f.now == nil || now.Sub(f.denied) > grace
}

// retire makes the file of now an old one.
func (f *follower) retire(now time.Time) {
	if len(f.old) == mostOld {
		f.old[0].close()
		f.old = slices.Delete(f.old, 0, 1)
	}
	f.old = append(f.old, ended{f.now, now.Add(grace)})
}

// complain tells of an error once.
func (f *follower) complain(err error) {
	text := err.Error() + hint(err)
	if text == f.err {
		return
	}
	f.err = text
	f.o.State.set(text)
	f.o.Log.Warn("a log of nginx cannot be read, and who offends there is not handed down; it is tried again", "path", f.path, "error", text)
}

// hint says what to do about an error.
func hint(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "; let the agent's user read it, as by the group that owns it: usermod -aG adm USER, or SupplementaryGroups=adm in its unit"
	case errors.Is(err, fs.ErrNotExist):
		return "; name the file that error_log says in nginx's configuration"
	default:
		return ""
	}
}

// well notes that the log is read.
func (f *follower) well() {
	if f.err != "" {
		f.err = ""
		f.o.State.set("")
		f.o.Log.Info("a log of nginx is read again", "path", f.path)
	}
}

// drain reads a file to its end, and returns when to look at it again.
func (f *follower) drain(ctx context.Context, t *tail, now time.Time) time.Duration {
	at := t.at
	for ctx.Err() == nil {
		more, err := t.read(f.chunk)
		if err != nil {
			f.complain(err)
			return seldom
		}
		if !more {
			break
		}
	}
	if t.at != at {
		t.grew = now
	}
	if t == f.now && f.gone.IsZero() {
		f.well()
	}
	switch {
	case len(t.held) == 0:
		return seldom
	case now.Sub(t.grew) >= soon && t.at == t.from:
		t.quiet()
		return seldom
	default:
		return soon
	}
}

// tell tells of an offence.
func (f *follower) tell(r record) {
	zone, known := f.zones[string(r.zone)]
	if !known {
		zone = string(r.zone)
		if len(f.zones) < mostZones {
			f.zones[zone] = zone
		}
	}
	f.o.Counters.Offences.Add(1)
	f.found(Offence{r.client, zone})
}

func (f *follower) close() {
	if f.now != nil {
		f.now.close()
	}
	for _, t := range f.old {
		t.close()
	}
	f.notices.Close()
}
