package nginxlab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// installed is where distributions put nginx.
const installed = "/usr/sbin/nginx"

// binary is a program and where its libraries are, if not where the system's are.
type binary struct {
	path      string
	libraries []string
}

// find returns an nginx that can log what it decides. Without one, and without root, it skips the test.
func find(tb testing.TB) binary {
	tb.Helper()
	if len(clockLibrary) == 0 {
		tb.Skip("needs amd64 or arm64, to control nginx's clock")
	}
	if b := (binary{path: installed}); b.check(tb.Context()) == nil {
		return b
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		tb.Skipf("needs nginx built with --with-debug in %s, or apt-get to download it", installed)
	}
	b, err := downloaded(tb.Context(), cacheDir(tb))
	if err == nil {
		err = b.check(tb.Context())
	}
	if err != nil && os.Geteuid() != 0 {
		tb.Skipf("needs nginx: %v", err)
	}
	if err != nil {
		tb.Fatalf("no nginx: %v", err)
	}
	return b
}

// Command returns a command that runs an nginx with the arguments: the one that is installed or, if there is none, the one
// that apt-get downloads. Its clock is the real one.
func Command(ctx context.Context, args ...string) (*exec.Cmd, error) {
	b := binary{path: installed}
	if _, err := os.Stat(installed); err != nil {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		if b, err = downloaded(ctx, cache); err != nil {
			return nil, fmt.Errorf("no nginx: %w; install it, or have apt-get download it", err)
		}
	}
	return b.command(ctx, args...), nil
}

// check returns an error if b does not run here, or logs too little.
func (b binary) check(ctx context.Context) error {
	out, err := b.command(ctx, "-V").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s -V: %w: %s", b.path, err, out)
	}
	if !strings.Contains(string(out), "--with-debug") {
		return fmt.Errorf("%s is built without --with-debug", b.path)
	}
	return nil
}

func (b binary) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.path, args...)
	cmd.Env = []string{"LC_ALL=C"}
	if len(b.libraries) > 0 {
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+strings.Join(b.libraries, ":"))
	}
	return cmd
}

// cacheDir returns where to keep what is downloaded.
func cacheDir(tb testing.TB) string {
	cache, err := os.UserCacheDir()
	if err != nil { // no home; a place that others can write to is none to run programs from
		return tb.TempDir()
	}
	return cache
}

// downloaded returns the nginx that apt downloads. What was downloaded once stays in the cache.
func downloaded(ctx context.Context, cache string) (_ binary, err error) {
	dir := filepath.Join(cache, "headgate", "nginx")
	if b, err := unpacked(dir); err == nil {
		return b, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return binary{}, err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), "download-")
	if err != nil {
		return binary{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := download(ctx, temp); err != nil {
		return binary{}, err
	}
	// Another process may have been quicker. Then its copy is there, and as good.
	renameErr := os.Rename(filepath.Join(temp, "root"), dir)
	b, err := unpacked(dir)
	if err != nil && renameErr != nil {
		return binary{}, renameErr
	}
	return b, err
}

func remove(tb testing.TB, dir string) {
	tb.Helper()
	if err := os.RemoveAll(dir); err != nil {
		tb.Error(err)
	}
}

// unpacked returns the nginx in a directory that packages were unpacked to.
func unpacked(dir string) (binary, error) {
	b := binary{path: filepath.Join(dir, installed)}
	if _, err := os.Stat(b.path); err != nil {
		return binary{}, fmt.Errorf("the packages have no nginx: %w", err)
	}
	for _, pattern := range []string{"lib/*-linux-gnu", "usr/lib/*-linux-gnu"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return binary{}, err
		}
		b.libraries = append(b.libraries, found...)
	}
	return b, nil
}
