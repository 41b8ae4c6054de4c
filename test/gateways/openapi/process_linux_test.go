package openapi_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/netlab/netlabtest"
	"github.com/headgate/headgate/test/redislab"
)

// agent is a process of `headgate run`.
type agent struct {
	dir   string
	log   bytes.Buffer  // complete when it has ended
	ended chan struct{} // closed then
	err   error         // of how it ended
}

func (a *agent) path(name string) string { return filepath.Join(a.dir, name) }

// startAgent starts an agent on a pair of interfaces of its own, beside a Redis, until the end of the test.
func startAgent(t *testing.T) *agent {
	t.Helper()
	dir, err := os.MkdirTemp("", "openapi-") // that of the test is too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	a := &agent{dir: dir, ended: make(chan struct{})}
	pair := netlabtest.Pair(t, netlab.PairOptions{})
	text := strings.NewReplacer("DIR", dir, "IFACE", pair.Far.Name).Replace(configuration)
	if err := os.WriteFile(a.path("headgate.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	redislab.StartInside(t, pair.Far.Namespace.Do)
	a.run(t, pair.Far.Namespace)
	a.awaitSocket(t)
	return a
}

// run starts the process in a namespace.
func (a *agent) run(t *testing.T, in *netlab.Namespace) {
	t.Helper()
	cmd := exec.Command(a.build(t), "run", "-c", a.path("headgate.yaml"))
	cmd.Env = []string{"HEADGATE_PIN=" + filepath.Join(netlabtest.BPFFS(t), "hg"), "SSH_CONNECTION=none"}
	cmd.Stderr = &a.log
	if err := in.Do(cmd.Start); err != nil {
		t.Fatal(err)
	}
	go func() {
		a.err = cmd.Wait()
		close(a.ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // an error says that it has ended
		<-a.ended
		if t.Failed() {
			t.Logf("the agent's log:\n%s", &a.log)
		}
	})
}

// build makes the program, and returns its path.
func (a *agent) build(t *testing.T) string {
	t.Helper()
	program := a.path("headgate")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/headgate")
	cmd.Dir = "../../.." // the module that the program is of
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build headgate: %v\n%s", err, out)
	}
	return program
}

// awaitSocket waits until the API is served. The time is only for a test that fails.
func (a *agent) awaitSocket(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(a.path("admin.sock")); err == nil {
			return
		}
		select {
		case <-a.ended:
			t.Fatalf("the agent ended: %v", a.err)
		default:
		}
	}
	t.Fatal("no socket within a minute")
}
