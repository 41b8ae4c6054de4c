package loader

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/bpf"
)

// TestBroken has instances in which something is missing or not what it should be: the error says
// what and how to get rid of it, and that way works.
func TestBroken(t *testing.T) {
	tests := []struct {
		name    string
		missing string // in the layout's directory
		instead func(i *Instance, path string) error
		want    string
	}{
		{"no map", bpf.MapBuckets, nil, "the map buckets is missing"},
		{"no map of an older build", bpf.MapHeat, nil, "the map heat_lines is missing"},
		{"a program for a map", bpf.MapBuckets, pinProgram, "open the map buckets"},
		{"no program", bpf.Program, nil, "the program xdp_ratelimit is missing"},
		{"a map for a program", bpf.Program, pinMap, "open the program xdp_ratelimit"},
		{"no links", linksDir, nil, "the directory links is missing"},
		{"a program for a link", "links/5", pinProgram, "open the link 5"},
		{"a map for a link", "links/5", pinMap, "open the link 5"},
	}
	for _, tt := range tests {
		o := small(t)
		i := create(t, o)
		path := filepath.Join(i.dir, tt.missing)
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if tt.instead != nil {
			if err := tt.instead(i, path); err != nil {
				t.Fatal(err)
			}
		}
		i.Close()
		err := openAndList(o)
		if !errors.Is(err, ErrIncompatible) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "`headgate detach --all`") {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
		if err := Remove(o); err != nil {
			t.Errorf("%s: remove: %v", tt.name, err)
		}
	}
}

func pinProgram(i *Instance, path string) error {
	p, err := i.programs[bpf.Program].Clone()
	if err != nil {
		return err
	}
	defer p.Close()
	return p.Pin(path)
}

func pinMap(i *Instance, path string) error {
	m, err := i.maps[bpf.MapGlobals].Clone()
	if err != nil {
		return err
	}
	defer m.Close()
	return m.Pin(path)
}

func openAndList(o Options) error {
	i, err := OpenToRead(o)
	if err != nil {
		return err
	}
	defer i.Close()
	_, err = i.Attachments()
	return err
}

// TestOpenError takes an error of the kernel's for what it is, not for a broken instance.
func TestOpenError(t *testing.T) {
	i := &Instance{dir: filepath.Join(t.TempDir(), layoutVersion)}
	err := i.openError("map", "buckets", unix.ENOMEM)
	if !errors.Is(err, unix.ENOMEM) || errors.Is(err, ErrIncompatible) {
		t.Errorf("error %v", err)
	}
	if err := i.openError("map", "buckets", unix.EPERM); !errors.Is(err, ErrPrivilege) {
		t.Errorf("error %v, want %v", err, ErrPrivilege)
	}
}

// TestReplaced tells a reader that its instance was removed, and also when there is another one.
func TestReplaced(t *testing.T) {
	o := small(t)
	writer := create(t, o)
	reader, err := OpenToRead(o)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	want := func(i *Instance, want bool) {
		t.Helper()
		if got := i.Replaced(); got != want {
			t.Errorf("replaced %t, want %t", got, want)
		}
	}
	want(reader, false)
	want(writer, false)
	if err := writer.RemoveAll(); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	want(reader, true)
	if _, err := reader.Events(); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("Events: %v, want %v", err, ErrNotLoaded)
	}
	again := create(t, o)
	want(reader, true)
	want(again, false)
}
