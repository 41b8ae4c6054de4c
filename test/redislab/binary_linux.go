package redislab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/headgate/headgate/test/debian"
)

// Command returns a command that runs one of Redis' programs, redis-server or redis-cli: the one that is installed or, if there
// is none, the one that apt-get downloads.
func Command(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	if path, err := exec.LookPath(name); err == nil {
		return debian.Program{Path: path}.Command(ctx, args...), nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	p, err := downloaded(ctx, cache, name)
	if err != nil {
		return nil, fmt.Errorf("no %s: %w; install it, or have apt-get download it", name, err)
	}
	return p.Command(ctx, args...), nil
}

// downloaded returns a program of Redis' that apt downloads.
func downloaded(ctx context.Context, cache, name string) (debian.Program, error) {
	redis := debian.Software{Name: "redis", Packages: []string{"redis-server", "redis-tools"}, Parts: []string{"redis", "lua"}}
	return redis.Get(ctx, cache, filepath.Join("/usr/bin", name))
}

// command returns a command as Command does. Without the program, and without root, it skips the test.
func command(ctx context.Context, tb testing.TB, name string, args ...string) *exec.Cmd {
	tb.Helper()
	cmd, err := Command(ctx, name, args...)
	if err != nil && os.Geteuid() != 0 {
		tb.Skipf("needs Redis: %v", err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return cmd
}
