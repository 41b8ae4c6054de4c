package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// Who starts a second agent, by hand beside systemd's, is told that there may be one.
func TestRunTwice(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "headgate.yaml")
	text := fmt.Appendf(nil, "metrics: {listen: %q}\n", taken.Addr())
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c := newConsole()
	if code := c.run(t, "run", "-c", file); code != exitFailed {
		t.Errorf("exit %d", code)
	}
	contains(t, c.err.String(), "address already in use", "`headgate agent` shows it")
}
