package loader

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate/headgate/test/need"
)

const nobody = 65534

// TestCheckOwner goes through what another user may have made where the instance is to be.
func TestCheckOwner(t *testing.T) {
	need.Root(t)
	tests := []struct {
		name string
		make func(dir string) error
		want string // in the error; "" for none
	}{
		{"nothing there", os.Remove, ""},
		{"ours", func(string) error { return nil }, ""},
		{"others may read", func(dir string) error { return os.Chmod(dir, 0o755) }, ""},
		{"group may write", func(dir string) error { return os.Chmod(dir, 0o770) }, "`chmod go-w "},
		{"all may write", func(dir string) error { return os.Chmod(dir, 0o1777) }, "`chmod go-w "},
		{"another's", func(dir string) error { return os.Chown(dir, nobody, nobody) }, "belongs to user 65534"},
		{"another's layout", func(dir string) error { return mkdirOf(filepath.Join(dir, layoutVersion), nobody) }, "v1 belongs to user 65534"},
		{"our link", func(dir string) error { return linkOf(dir, 0) }, ""},
		{"another's link", func(dir string) error { return linkOf(dir, nobody) }, "belongs to user 65534"},
	}
	for _, tt := range tests {
		dir := filepath.Join(t.TempDir(), "hg")
		if err := os.Mkdir(dir, dirMode); err != nil {
			t.Fatal(err)
		}
		if err := tt.make(dir); err != nil {
			t.Fatal(err)
		}
		err := checkOwner(dir)
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

func mkdirOf(dir string, uid int) error {
	if err := os.Mkdir(dir, dirMode); err != nil {
		return err
	}
	return os.Chown(dir, uid, uid)
}

// linkOf has a user's link in the place of dir, to a directory of ours.
func linkOf(dir string, uid int) error {
	if err := os.Rename(dir, dir+"-target"); err != nil {
		return err
	}
	if err := os.Symlink(dir+"-target", dir); err != nil {
		return err
	}
	return os.Lchown(dir, uid, uid)
}

// TestForeignDirectory has every way to open, make or remove an instance refuse the directory of
// another user, and touch nothing in it.
func TestForeignDirectory(t *testing.T) {
	o := small(t)
	create(t, o).Close()
	if err := os.Chown(o.Dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func(Options) error{
		"Create":     func(o Options) error { _, _, err := Create(o); return err },
		"Open":       func(o Options) error { _, err := Open(o); return err },
		"OpenToRead": func(o Options) error { _, err := OpenToRead(o); return err },
		"Remove":     Remove,
	} {
		want := fmt.Sprintf("%s belongs to user %d", o.Dir, nobody)
		if err := open(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
	if got := strings.Join(names(t, o.Dir), " "); got != layoutVersion {
		t.Errorf("the directory has %s", got)
	}
	if err := os.Chown(o.Dir, 0, 0); err != nil {
		t.Fatal(err)
	}
	create(t, o)
}
