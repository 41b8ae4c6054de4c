package nginxlog

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// logLab has a follower that looks only when it is told, at a time that goes on only then.
type logLab struct {
	*testing.T
	path string
	f    *follower
	now  time.Time
	got  []string // clients
	said strings.Builder
	c    Counters
}

func newLogLab(t *testing.T, o Options) *logLab {
	l := &logLab{T: t, path: filepath.Join(t.TempDir(), "log", "error.log"), now: time.Unix(1000, 0)}
	o.Log, o.Counters = slog.New(slog.NewTextHandler(&l.said, nil)), &l.c
	l.f = newFollower(l.path, o, func(o Offence) { l.got = append(l.got, o.Client.String()) })
	t.Cleanup(l.f.close)
	return l
}

func (l *logLab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// write appends to a file, which is made with its directory.
func (l *logLab) write(path, text string) {
	l.Helper()
	l.must(os.MkdirAll(filepath.Dir(path), 0o700))
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	l.must(err)
	_, err = f.WriteString(text)
	l.must(err)
	l.must(f.Close())
}

// look looks, and once more when what is held can be believed.
func (l *logLab) look(want ...string) {
	l.Helper()
	l.f.look(l.Context(), l.now)
	l.now = l.now.Add(soon)
	l.f.look(l.Context(), l.now)
	if !slices.Equal(l.got, want) {
		l.Errorf("refused: %v, want %v", l.got, want)
	}
	l.got = nil
}

// by returns a line about a client.
func by(client string) string { return refused(client, "/", longestHere) }

func TestFollowsFromTheEnd(t *testing.T) {
	l := newLogLab(t, Options{})
	l.write(l.path, by("192.0.2.1"))
	l.look()
	l.write(l.path, by("192.0.2.2"))
	l.look("192.0.2.2")
	l.look()
}

func TestFollowsFromTheMiddleOfALine(t *testing.T) {
	l := newLogLab(t, Options{})
	l.write(l.path, by("192.0.2.1")[:30])
	l.look()
	l.write(l.path, by("192.0.2.1")[30:]+by("192.0.2.2"))
	l.look() // one cannot know what the line began with, and what it may have in it
	l.write(l.path, strings.Repeat("x", longest)+"\n"+by("192.0.2.3"))
	l.look("192.0.2.3")
}

func TestFollowsFromTheStart(t *testing.T) {
	l := newLogLab(t, Options{FromStart: true})
	l.write(l.path, by("192.0.2.1"))
	l.look("192.0.2.1")
}

func TestFollowsWhatComesLater(t *testing.T) {
	l := newLogLab(t, Options{})
	l.look() // no directory
	l.must(os.MkdirAll(filepath.Dir(l.path), 0o700))
	l.look()
	l.write(l.path, by("192.0.2.1"))
	l.look("192.0.2.1")
}

func TestFollowsPieces(t *testing.T) {
	l := newLogLab(t, Options{FromStart: true})
	line := by("192.0.2.1")
	for i := range line {
		l.write(l.path, line[i:i+1])
		if i < len(line)-1 {
			l.look()
		}
	}
	l.look("192.0.2.1")
}

// A record may be seen in parts. Nothing in its first is believed before the rest is there.
func TestWaitsForTheEvidence(t *testing.T) {
	l := newLogLab(t, Options{FromStart: true})
	record := absent("/x%0a2026/11/30%2003:04:05%20[error]%201%231:%20*1%20limiting%20requests,%20excess:%201.000%20by%20zone%20%22perip%22,%20client:%209.9.9.9,%20server:%20x%0a", longestHere)
	end := strings.LastIndex(record, "\n\"") + 1
	l.write(l.path, record[:end])
	l.f.look(t.Context(), l.now)
	l.write(l.path, record[end:])
	l.look()
	if n := l.c.Doubtful.Load(); n != 1 {
		t.Errorf("%d doubtful, want 1", n)
	}
}

// However long the rest of a record is waited for, also of one that is longer than those of nginx are.
func TestWaitsForTheEndOfALine(t *testing.T) {
	for name, rest := range map[string]string{"short": `" failed`, "long": strings.Repeat("x", mostLine+1)} {
		l := newLogLab(t, Options{FromStart: true})
		l.write(l.path, begin+`open() "/x`+forgery+"\n"+rest)
		l.look()
		l.now = l.now.Add(time.Hour)
		l.look()
		l.write(l.path, `, request: "GET /x%0a"`+"\n")
		l.look()
		if n := l.c.Doubtful.Load(); n != 1 {
			t.Errorf("%s: %d doubtful, want 1", name, n)
		}
	}
}

func TestFollowsRotation(t *testing.T) {
	l := newLogLab(t, Options{FromStart: true})
	l.write(l.path, by("192.0.2.1"))
	l.look("192.0.2.1")
	l.must(os.Rename(l.path, l.path+".1"))
	l.write(l.path+".1", by("192.0.2.2")) // nginx has not heard of it
	l.look("192.0.2.2")
	l.write(l.path, by("192.0.2.3"))
	l.write(l.path+".1", by("192.0.2.4")) // one of its workers has not
	l.look("192.0.2.4", "192.0.2.3")
	l.now = l.now.Add(grace)
	l.look()
	l.now = l.now.Add(time.Second)
	l.look()
	if len(l.f.old) != 0 {
		t.Error("the old file is still read")
	}
	if n := l.c.Files.Load(); n != 2 {
		t.Errorf("%d files, want 2", n)
	}
}

func TestFollowsReplacement(t *testing.T) {
	l := newLogLab(t, Options{FromStart: true})
	l.write(l.path, by("192.0.2.1"))
	l.look("192.0.2.1")
	l.write(l.path+".new", by("192.0.2.2"))
	l.must(os.Rename(l.path+".new", l.path))
	l.look("192.0.2.2")
	l.must(os.Remove(l.path))
	l.look()
	l.write(l.path, by("192.0.2.3"))
	l.look("192.0.2.3")
	l.write(l.path+".b", by("192.0.2.4"))
	l.must(os.Remove(l.path))
	l.must(os.Symlink(l.path+".b", l.path))
	l.look("192.0.2.4")
	l.write(l.path+".b", by("192.0.2.5"))
	l.look("192.0.2.5")
	l.write(l.path+".c", by("192.0.2.6"))
	l.must(os.Symlink(l.path+".c", l.path+".link"))
	l.must(os.Rename(l.path+".link", l.path))
	l.look("192.0.2.6")
}

func TestFollowsCut(t *testing.T) {
	l := newLogLab(t, Options{FromStart: true})
	l.write(l.path, by("192.0.2.1")+stderr("x", longestHere)+"a line that is not whole")
	l.look("192.0.2.1") // and what came after would be in doubt
	l.must(os.Truncate(l.path, 0))
	l.look()
	l.write(l.path, by("192.0.2.2"))
	l.look("192.0.2.2")
}

func TestMemoryIsBounded(t *testing.T) {
	l := newLogLab(t, Options{FromStart: true})
	l.write(l.path, strings.Repeat("\x00", 3<<20)) // more than is read at once
	l.look()
	if size := cap(l.f.now.line); size > 2*mostLine {
		t.Errorf("%d bytes for a line", size)
	}
	l.write(l.path, "\n"+strings.Repeat("x", longest)+"\n"+by("192.0.2.1"))
	l.look("192.0.2.1")
	for i := range 2 * mostZones {
		l.f.tell(record{zone: fmt.Append(nil, i)})
	}
	if n := len(l.f.zones); n != mostZones {
		t.Errorf("%d zones", n)
	}
	for i := range 3 * mostOld {
		l.must(os.Rename(l.path, fmt.Sprint(l.path, i)))
		l.write(l.path, "")
		l.f.look(t.Context(), l.now)
	}
	if n := len(l.f.old); n != mostOld {
		t.Errorf("%d old files", n)
	}
}

func TestMuchIsRead(t *testing.T) {
	l := newLogLab(t, Options{FromStart: true})
	const n = 20_000 // 3 MB
	l.write(l.path, strings.Repeat(by("192.0.2.1"), n))
	l.f.look(t.Context(), l.now)
	if len(l.got) != n {
		t.Errorf("%d of %d", len(l.got), n)
	}
}

func TestComplainsOnce(t *testing.T) {
	l := newLogLab(t, Options{})
	l.must(os.MkdirAll(l.path, 0o700)) // a directory is there in place of a file
	l.look()
	l.look()
	if n := strings.Count(l.said.String(), "is not a regular file"); n != 1 {
		t.Errorf("told %d times:\n%s", n, &l.said)
	}
	l.must(os.Remove(l.path))
	l.look()
	l.write(l.path, by("192.0.2.1"))
	l.look("192.0.2.1")
	if !strings.Contains(l.said.String(), "level=INFO msg=\"a log of nginx is read again\"") {
		t.Errorf("not told that all is well:\n%s", &l.said)
	}
}

// That a log cannot be read is a warning that says what to do, and can be asked for as long as it is so.
func TestTellsWhatToDo(t *testing.T) {
	var state State
	l := newLogLab(t, Options{State: &state})
	want := func(when, problem string, warnings int) {
		t.Helper()
		l.look()
		if p := state.Problem(); !strings.Contains(p, problem) || (p == "") != (problem == "") {
			t.Errorf("%s: the state is %q, want %q", when, p, problem)
		}
		if n := strings.Count(l.said.String(), "level=WARN"); n != warnings {
			t.Errorf("%s: %d warnings, want %d:\n%s", when, n, warnings, &l.said)
		}
	}
	want("no file", "name the file that error_log says", 1)
	l.write(l.path, "")
	want("a file", "", 1)
	l.must(os.Rename(l.path, l.path+".1"))
	want("just rotated", "", 1)
	l.now = l.now.Add(grace)
	want("gone", "name the file that error_log says", 2)
	if h := hint(&fs.PathError{Op: "open", Path: l.path, Err: syscall.EACCES}); !strings.Contains(h, "usermod -aG adm") {
		t.Errorf("of a file that must not be read: %q", h)
	}
}

// What was written to a file before it could be read is long ago, and counts no more than what is there at the start.
func TestWhatCouldNotBeReadIsOver(t *testing.T) {
	l := newLogLab(t, Options{})
	l.must(os.MkdirAll(l.path, 0o700)) // stands for a file that must not be read: root may read all
	l.look()
	l.must(os.Remove(l.path))
	l.write(l.path, by("192.0.2.1"))
	l.look()
	l.write(l.path, by("192.0.2.2"))
	l.look("192.0.2.2")
	l.must(os.Rename(l.path, l.path+".1"))
	l.write(l.path, by("192.0.2.3"))
	l.look("192.0.2.3") // a new one is read from its beginning
}

func TestNoPath(t *testing.T) {
	if err := Follow(t.Context(), "", Options{}, nil); err == nil {
		t.Error("no error")
	}
}

// netip parses a string, which is the one allocation.
func TestALineIsReadWithOneAllocation(t *testing.T) {
	l := newLogLab(t, Options{FromStart: true})
	l.f.found = func(Offence) {}
	l.write(l.path, by("192.0.2.1"))
	l.look()
	line := []byte(strings.TrimSuffix(by("192.0.2.1"), "\n"))
	if n := testing.AllocsPerRun(100, func() { l.f.now.add(line, 1<<20, 1<<20+int64(len(line))) }); n > 1 {
		t.Errorf("%v allocations, want at most 1", n)
	}
}

func BenchmarkLine(b *testing.B) {
	d := doubt{found: func(record) {}, doubtful: func() {}}
	line := []byte(strings.TrimSuffix(by("192.0.2.1"), "\n"))
	b.SetBytes(int64(len(line)))
	for at := int64(0); b.Loop(); at += int64(len(line)) {
		d.add(line, at, at+int64(len(line)))
	}
}
