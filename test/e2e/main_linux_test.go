package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/headgate/headgate/test/leak"
)

const (
	// binaryVariable tells the tests where the binary is that TestMain has built.
	binaryVariable = "HEADGATE_E2E_BINARY"
	// wrapVariable makes this test binary a wrapper of headgate; see wrap.
	wrapVariable = "HEADGATE_E2E_WRAP"
)

func TestMain(m *testing.M) {
	if how := os.Getenv(wrapVariable); how != "" {
		os.Exit(wrap(how, os.Args[1:]))
	}
	if os.Geteuid() != 0 {
		os.Exit(m.Run()) // each test says why it is left out
	}
	os.Exit(runAll(m))
}

// runAll builds the binary, runs the tests, and then looks for what they left behind.
func runAll(m *testing.M) int {
	// Under nohup SIGHUP is ignored, and commands would inherit that; a handler they do not.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	root, err := os.MkdirTemp("", "headgate-e2e-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(root) }()
	binary := filepath.Join(root, "headgate")
	if err := build(root, binary); err != nil {
		return fail(err)
	}
	// Temporary directories of the tests are below root too, where a leak shows.
	for name, value := range map[string]string{"TMPDIR": filepath.Join(root, "tmp"), binaryVariable: binary} {
		if err := os.Setenv(name, value); err != nil {
			return fail(err)
		}
	}
	before := leak.Now()
	code := m.Run()
	if code != 0 {
		return code
	}
	if err := leaks(root, binary, before); err != nil {
		return fail(err)
	}
	return 0
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "e2e:", err)
	return 1
}

// build makes a directory that every user can read, and the binary in it.
func build(root, binary string) error {
	if err := os.Chmod(root, 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(root, "tmp"), 0o755); err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-o", binary, "github.com/headgate/headgate/cmd/headgate")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build headgate: %w\n%s", err, out)
	}
	return nil
}
