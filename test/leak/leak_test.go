//go:build linux

package leak_test

import (
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/headgate/headgate/test/leak"
)

func TestMore(t *testing.T) {
	before := leak.Now()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // opens what the runtime keeps open too
	if err != nil {
		t.Fatal(err)
	}
	if err := before.More(); err == nil || !strings.Contains(err.Error(), `1 files "socket"`) {
		t.Errorf("error %v, want one that names the socket", err)
	}
	if err := leak.Now().More(); err != nil {
		t.Errorf("with the socket counted before: %v", err)
	}
	listener.Close()
	if err := before.More(); err != nil {
		t.Errorf("after the socket was closed: %v", err)
	}
}

func TestFewerAreNoLeak(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	before := leak.Now()
	f.Close()
	if err := before.More(); err != nil {
		t.Error(err)
	}
}

func TestCheckWaits(t *testing.T) {
	leak.Check(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = r.Read(make([]byte, 1)) // returns when the test has ended and w is closed
		r.Close()
	}()
	t.Cleanup(func() { w.Close() })
}

// recorder is a test whose end and failure another one looks at.
type recorder struct {
	testing.TB
	cleanup func()
	failed  bool
}

func (r *recorder) Cleanup(f func()) { r.cleanup = f }
func (r *recorder) Error(...any)     { r.failed = true }

// TestCheckFails has a file that nobody closes. The wait for it takes no time here.
func TestCheckFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{TB: t}
		leak.Check(r)
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r.cleanup()
		if !r.failed {
			t.Error("an open file is not seen")
		}
	})
}
