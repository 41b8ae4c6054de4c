package nginxlab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/headgate/headgate/test/debian"
)

// installed is where distributions put nginx.
const installed = "/usr/sbin/nginx"

// binary is an nginx.
type binary struct{ debian.Program }

// find returns an nginx that can log what it decides. Without one, and without root, it skips the test.
func find(tb testing.TB) binary {
	tb.Helper()
	if len(clockLibrary) == 0 {
		tb.Skip("needs amd64 or arm64, to control nginx's clock")
	}
	if b := (binary{debian.Program{Path: installed}}); b.check(tb.Context()) == nil {
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
	b := binary{debian.Program{Path: installed}}
	if _, err := os.Stat(installed); err != nil {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		if b, err = downloaded(ctx, cache); err != nil {
			return nil, fmt.Errorf("no nginx: %w; install it, or have apt-get download it", err)
		}
	}
	return b.Command(ctx, args...), nil
}

// check returns an error if b does not run here, or logs too little.
func (b binary) check(ctx context.Context) error {
	out, err := b.Command(ctx, "-V").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s -V: %w: %s", b.Path, err, out)
	}
	if !strings.Contains(string(out), "--with-debug") {
		return fmt.Errorf("%s is built without --with-debug", b.Path)
	}
	return nil
}

// cacheDir returns where to keep what is downloaded.
func cacheDir(tb testing.TB) string {
	cache, err := os.UserCacheDir()
	if err != nil { // no home; a place that others can write to is none to run programs from
		return tb.TempDir()
	}
	return cache
}

// downloaded returns the nginx that apt downloads.
func downloaded(ctx context.Context, cache string) (binary, error) {
	nginx := debian.Software{Name: "nginx", Packages: []string{"nginx"}, Parts: []string{"nginx"}, Without: []string{"nginx-common"}}
	p, err := nginx.Get(ctx, cache, installed)
	return binary{p}, err
}

func remove(tb testing.TB, dir string) {
	tb.Helper()
	if err := os.RemoveAll(dir); err != nil {
		tb.Error(err)
	}
}
