package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLinks checks that the files that documents link to are there.
func TestLinks(t *testing.T) {
	for _, path := range documents(t) {
		for _, target := range links(read(t, path)) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), target)); err != nil {
				t.Errorf("%s links to %s: %v", path, target, err)
			}
		}
	}
}

// link is one of Markdown, to a file and perhaps a place in it.
var link = regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)

// links returns the files that a document links to, as it names them.
func links(text string) (targets []string) {
	for _, match := range link.FindAllStringSubmatch(prose(text), -1) {
		if !strings.Contains(match[1], "://") {
			targets = append(targets, match[1])
		}
	}
	return targets
}

// prose returns a document without its blocks.
func prose(text string) string {
	return regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(text, "")
}

// TestNamedTests checks that the tests that documents name as proof are there.
func TestNamedTests(t *testing.T) {
	named := regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+`)
	there := testNames(t)
	for _, path := range documents(t) {
		for _, name := range named.FindAllString(read(t, path), -1) {
			if !there[name] {
				t.Errorf("%s names %s, and there is no such test", path, name)
			}
		}
	}
}

// TestMakeTargets checks that the Makefile has the targets that documents say to make.
func TestMakeTargets(t *testing.T) {
	makefile := read(t, filepath.Join(root, "Makefile"))
	named := regexp.MustCompile("(?m)(?:^(?:sudo )?|`(?:sudo )?)make ([a-z-]+)")
	seen := 0
	for _, path := range documents(t) {
		for _, match := range named.FindAllStringSubmatch(read(t, path), -1) {
			seen++
			if !strings.Contains(makefile, "\n.PHONY: "+match[1]+"\n"+match[1]+":") {
				t.Errorf("%s says make %s, and there is no such target", path, match[1])
			}
		}
	}
	if seen < 10 {
		t.Errorf("documents name only %d targets", seen)
	}
}

// TestDemoExcerpt checks that what the README shows of the demo's output are lines of it.
func TestDemoExcerpt(t *testing.T) {
	_, after, ok := strings.Cut(read(t, filepath.Join(root, "README.md")), "[its output](docs/demo.txt):\n\n```\n")
	excerpt, _, end := strings.Cut(after, "```\n")
	if !ok || !end {
		t.Fatal("README.md has no excerpt of the demo")
	}
	demo := "\n" + read(t, filepath.Join(root, "docs/demo.txt"))
	for line := range strings.Lines(excerpt) {
		if !strings.Contains(demo, "\n"+line) {
			t.Errorf("docs/demo.txt has no line %q", line)
		}
	}
}

func testNames(tb testing.TB) map[string]bool {
	tb.Helper()
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	names := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, match := range function.FindAllStringSubmatch(read(tb, path), -1) {
			names[match[1]] = true
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return names
}
