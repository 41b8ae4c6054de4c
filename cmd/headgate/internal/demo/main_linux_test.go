package demo_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/headgate/headgate/cmd/headgate/internal/demo"
)

const (
	// programVariable tells the tests where headgate is that TestMain has built.
	programVariable = "HEADGATE_DEMO_PROGRAM"
	// runVariable makes this test binary a demo.
	runVariable = "HEADGATE_DEMO_RUN"
)

func TestMain(m *testing.M) {
	if os.Getenv(runVariable) != "" {
		_, err := demo.Run(context.Background(), demo.Options{
			Live: os.Stdout, Second: second, Program: os.Getenv(programVariable),
		})
		if err != nil {
			os.Exit(fail(err))
		}
		os.Exit(0)
	}
	os.Exit(run(m))
}

// run builds headgate where it is needed, and runs the tests.
func run(m *testing.M) int {
	if os.Geteuid() != 0 {
		return m.Run() // each test says why it is left out
	}
	dir, err := os.MkdirTemp("", "headgate-demo-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program := filepath.Join(dir, "headgate")
	build := exec.Command("go", "build", "-o", program, "github.com/headgate/headgate/cmd/headgate")
	if out, err := build.CombinedOutput(); err != nil {
		return fail(fmt.Errorf("build headgate: %w\n%s", err, out))
	}
	if err := os.Setenv(programVariable, program); err != nil {
		return fail(err)
	}
	return m.Run()
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "demo:", err)
	return 1
}

// program returns where headgate is.
func program(t *testing.T) string {
	t.Helper()
	path := os.Getenv(programVariable)
	if path == "" {
		t.Fatalf("%s is not set", programVariable)
	}
	return path
}
