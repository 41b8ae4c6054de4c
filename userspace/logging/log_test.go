package logging_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/logging"
)

func open(t *testing.T, c config.Log, stderr io.Writer) *logging.Log {
	t.Helper()
	l, err := logging.New(c, stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFormats(t *testing.T) {
	var out bytes.Buffer
	l := open(t, config.Log{Format: "json"}, &out)
	l.Logger().With("part", "proxy").WithGroup("g").Info("began", "n", 1, "took", 1500*time.Millisecond)
	var line struct {
		Msg, Level, Part string
		G                struct {
			N    int
			Took string
		}
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%s: %v", out.String(), err)
	}
	if line.Msg != "began" || line.Level != "INFO" || line.Part != "proxy" || line.G.N != 1 || line.G.Took != "1.5s" {
		t.Errorf("got %+v", line)
	}
}

func TestSettingsChangeWhileLoggersAreInUse(t *testing.T) {
	var out bytes.Buffer
	l := open(t, config.Log{Format: "json", Level: slog.LevelWarn}, &out)
	logger := l.Logger().With("a", 1)
	logger.Info("too low")
	if out.Len() != 0 {
		t.Errorf("got %q", out.String())
	}
	if err := l.Set(config.Log{Format: "text", Level: slog.LevelDebug}); err != nil {
		t.Fatal(err)
	}
	logger.Debug("now")
	if got := out.String(); !strings.Contains(got, "level=DEBUG msg=now a=1\n") {
		t.Errorf("got %q", got)
	}
}

func TestRotation(t *testing.T) {
	name := filepath.Join(t.TempDir(), "headgate.log")
	l := open(t, config.Log{File: name}, new(bytes.Buffer))
	l.Logger().Info("first")
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	l.Logger().Info("second") // still into the old one
	if err := l.Set(config.Log{File: name}); err != nil {
		t.Fatal(err)
	}
	l.Logger().Info("third")
	if old := read(t, name+".1"); !strings.Contains(old, "first") || !strings.Contains(old, "second") {
		t.Errorf("the old log is %q", old)
	}
	if fresh := read(t, name); !strings.Contains(fresh, "third") || strings.Count(fresh, "\n") != 1 {
		t.Errorf("the new log is %q", fresh)
	}
}

func TestNoSuchDirectoryChangesNothing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "headgate.log")
	l := open(t, config.Log{File: name}, new(bytes.Buffer))
	if err := l.Set(config.Log{File: filepath.Join(t.TempDir(), "no", "such"), Format: "json"}); err == nil {
		t.Error("a file in no directory was opened")
	}
	l.Logger().Info("still here")
	if got := read(t, name); !strings.Contains(got, "msg=\"still here\"") {
		t.Errorf("got %q", got)
	}
}

// Nobody waits for who reads a pipe: not to open it, and not for long to write.
func TestPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if l, err := logging.New(config.Log{File: name}, io.Discard); err == nil {
			t.Error("a pipe without a reader was opened")
			l.Close()
		}
		reader, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer reader.Close()
		l := open(t, config.Log{File: name}, io.Discard)
		for logger := l.Logger(); l.Lost() == 0; {
			logger.Info(strings.Repeat("x", 4000))
		}
	}()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		panic("the log waits for somebody who reads") // and no end of the test would end that
	}
}

func TestFullDisk(t *testing.T) {
	var stderr bytes.Buffer
	l := open(t, config.Log{File: "/dev/full"}, &stderr)
	for range 3 {
		l.Logger().Info("lost")
	}
	if l.Lost() < 3 {
		t.Errorf("%d lines are lost, want at least 3", l.Lost())
	}
	if got := stderr.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "write /dev/full: ") || !strings.Contains(got, "no space left on device") {
		t.Errorf("stderr has %q, want one line", got)
	}
	name := filepath.Join(t.TempDir(), "headgate.log")
	if err := l.Set(config.Log{File: name}); err != nil {
		t.Fatal(err)
	}
	l.Logger().Info("there is room")
	told := fmt.Sprintf("msg=\"lines of this log were lost\" lines=%d\n", l.Lost())
	if got := read(t, name); !strings.Contains(got, told) || strings.Count(got, "\n") != 2 {
		t.Errorf("got %q", got)
	}
}

// torn takes three bytes of the first line only.
type torn struct{ bytes.Buffer }

func (w *torn) Write(line []byte) (int, error) {
	if w.Len() == 0 {
		n, _ := w.Buffer.Write(line[:3])
		return n, io.ErrShortWrite
	}
	return w.Buffer.Write(line)
}

// What was written of a line that was lost is not the beginning of the next.
func TestTornLine(t *testing.T) {
	var out torn
	l := open(t, config.Log{}, &out)
	l.Logger().Info("torn")
	l.Logger().Info("whole")
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 4 || len(lines[0]) != 3 || !strings.Contains(lines[1], "lines=1") || !strings.Contains(lines[2], "msg=whole") {
		t.Errorf("got %q", lines)
	}
}
