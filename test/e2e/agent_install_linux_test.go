package e2e_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/test/need"
)

// `make install` puts everything below DESTDIR, changes no file of the administrator, and `make uninstall` takes back the rest.
func TestAgentInstall(t *testing.T) {
	t.Parallel()
	need.Root(t) // or there is no binary
	need.Program(t, "make", "apt-get install make")
	dir := t.TempDir()
	run := func(target string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "make", target, "DESTDIR="+dir, "PREFIX=/opt/hg", "BIN="+os.Getenv(binaryVariable))
		cmd.Dir = "../.."
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make %s: %v\n%s", target, err, out)
		}
	}
	own := filepath.Join(dir, "etc/default/headgate-attach")
	if err := os.MkdirAll(filepath.Dir(own), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, []byte("INTERFACES=eth9\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run("install")
	want := map[string]string{
		"etc/default/headgate-attach":                                  "-rw-r--r--",
		"etc/headgate/headgate.yaml":                                   "-rw-r-----",
		"opt/hg/bin/headgate":                                          "-rwxr-xr-x",
		"opt/hg/lib/systemd/system/headgate-attach.service":            "-rw-r--r--",
		"opt/hg/lib/systemd/system/headgate.service":                   "-rw-r--r--",
		"opt/hg/lib/systemd/system/headgate.socket":                    "-rw-r--r--",
		"opt/hg/share/bash-completion/completions/headgate":            "-rw-r--r--",
		"opt/hg/share/fish/vendor_completions.d/headgate.fish":         "-rw-r--r--",
		"opt/hg/share/zsh/site-functions/_headgate":                    "-rw-r--r--",
		"opt/hg/share/man/man5/headgate.yaml.5":                        "-rw-r--r--",
		"opt/hg/share/man/man8/" + "headgate*.8, as in docs/man, each": "-rw-r--r--",
	}
	if diff := cmp.Diff(want, installed(t, dir)); diff != "" {
		t.Errorf("installed (-want +got):\n%s", diff)
	}
	for file, part := range map[string]string{
		"etc/default/headgate-attach":                          "INTERFACES=eth9",
		"opt/hg/lib/systemd/system/headgate.service":           "ExecStart=/opt/hg/bin/headgate run",
		"opt/hg/lib/systemd/system/headgate-attach.service":    "ExecStart=/opt/hg/bin/headgate attach",
		"opt/hg/share/bash-completion/completions/headgate":    "__start_headgate",
		"opt/hg/share/zsh/site-functions/_headgate":            "#compdef headgate",
		"opt/hg/share/fish/vendor_completions.d/headgate.fish": "complete",
	} {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !strings.Contains(string(text), part) {
			t.Errorf("%s lacks %q (%v)", file, part, err)
		}
	}
	run("uninstall")
	left := map[string]string{"etc/default/headgate-attach": "-rw-r--r--", "etc/headgate/headgate.yaml": "-rw-r-----"}
	if diff := cmp.Diff(left, installed(t, dir)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// installed returns the modes of all files below a directory. The man pages are one, if they are those of the repository.
func installed(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	all := map[string]string{}
	var pages []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if filepath.Ext(path) == ".8" {
			pages = append(pages, filepath.Base(path))
			path = filepath.Dir(path) + "/headgate*.8, as in docs/man, each"
		}
		all[path] = info.Mode().String()
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	made, err := filepath.Glob("../../docs/man/*.8")
	if err != nil {
		tb.Fatal(err)
	}
	for i, page := range made {
		made[i] = filepath.Base(page)
	}
	if len(pages) > 0 && !slices.Equal(pages, made) {
		tb.Errorf("pages are %v, want %v", pages, made)
	}
	return all
}
