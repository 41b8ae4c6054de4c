package watch

import (
	"os"
	"path/filepath"
	"testing"
)

// To look tells of another content, and of nothing else, however often it is done.
func TestLookTellsOfChangesOnly(t *testing.T) {
	n, err := NewNotices()
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	dir := t.TempDir()
	first, second := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "more", "b.txt")
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(first, "1")
	names, changes := []string{first}, 0
	f := &follower{notices: n, files: func() []string { return names }, changed: func() { changes++ }, last: Of(names)}
	for _, step := range []struct {
		name string
		do   func()
		want int
	}{
		{"nothing", func() {}, 0},
		{"the same again", func() { write(first, "1") }, 0},
		{"another file", func() { write(filepath.Join(dir, "other"), "1") }, 0},
		{"another content", func() { write(first, "2") }, 1},
		{"gone", func() { _ = os.Remove(first) }, 1},
		{"there again", func() { write(first, "2") }, 1},
		{"one that names another", func() {
			write(first, "3")
			f.changed = func() { changes++; names = []string{first, second} }
		}, 1},
		{"that other in a new directory", func() {
			if err := os.Mkdir(filepath.Dir(second), 0o700); err != nil {
				t.Fatal(err)
			}
			write(second, "1")
		}, 1},
	} {
		step.do()
		for range 3 {
			f.look()
		}
		if changes != step.want {
			t.Errorf("%s: told %d times, want %d", step.name, changes, step.want)
		}
		changes = 0
	}
	if got := n.watcher.WatchList(); len(got) != 2 {
		t.Errorf("watched: %q, want the directories of both", got)
	}
}
