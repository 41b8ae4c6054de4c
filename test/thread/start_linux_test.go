package thread_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/thread"
)

// A process that is to end with its parent outlives the thread that asked for it.
func TestStart(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "cat")
	cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var asked, starts int
	inside := func(start func() error) error {
		starts = unix.Gettid()
		return start()
	}
	ask := func() error {
		if asked = unix.Gettid(); asked == unix.Getpid() { // Go keeps the first thread, and does not use it again
			return nil
		}
		return thread.Start(cmd, inside)
	}
	for range 2 {
		if err := thread.Run(thread.AnyCPU, ask); err != nil {
			t.Fatal(err)
		}
		if cmd.Process != nil {
			break
		}
	}
	awaitEnd(t, asked)
	fmt.Fprintln(in, "still here")
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "still here\n" {
		t.Errorf("the process answers %q, %v", line, err)
	}
	if asked == starts {
		t.Error("it was started in the thread that asked for it")
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the process ended: %v", err)
	}
}

// awaitEnd waits until a thread is gone. The time is only for a test that fails.
func awaitEnd(t *testing.T, thread int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", thread)); err != nil {
			return
		}
	}
	t.Fatal("the thread does not end")
}

func TestStartNothing(t *testing.T) {
	if err := thread.Start(exec.CommandContext(t.Context(), "/nowhere/no-such-program"), nil); err == nil {
		t.Error("a program that there is not was started")
	}
}
