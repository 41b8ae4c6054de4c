package docs_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
)

// code is a block of a document that is no console.
type code struct {
	language string
	line     int    // of its first line in the document
	from     string // the file that it is a part of
	wrong    bool   // it shows what is refused
	foreign  bool   // it is no configuration of headgate
	lines    []string
}

// codes finds the blocks in a language. In the line before a block there may be
//
//	<!-- test: from examples/perip/main.go -->
//	<!-- test: wrong -->
//	<!-- test: foreign -->
//
// where it is a part of a file of the project, where it is a configuration that is refused, and where it is for another program.
func codes(text, language string) ([]code, error) {
	var found []code
	var current *code
	before := ""
	for i, line := range strings.Split(text, "\n") {
		switch {
		case current == nil && line == "```"+language:
			current = &code{language: language, line: i + 2}
			if err := current.comment(before); err != nil {
				return nil, fmt.Errorf("line %d: %w", i, err)
			}
		case current == nil:
			before = line
		case line == "```":
			found = append(found, *current)
			current, before = nil, ""
		default:
			current.lines = append(current.lines, line)
		}
	}
	return found, nil
}

func (c *code) comment(line string) error {
	text, ok := strings.CutPrefix(line, "<!-- test: ")
	if !ok {
		return nil
	}
	text = strings.TrimSuffix(text, " -->")
	switch text {
	case "wrong":
		c.wrong = true
		return nil
	case "foreign":
		c.foreign = true
		return nil
	}
	if c.from, ok = strings.CutPrefix(text, "from "); !ok {
		return fmt.Errorf("%q: use from FILE, wrong or foreign", line)
	}
	return nil
}

// isPartOf reports whether the lines of c follow each other in a file, all indented alike.
func (c *code) isPartOf(file string) bool {
	lines := strings.Split(file, "\n")
	for i := range lines {
		indent, ok := strings.CutSuffix(lines[i], c.lines[0])
		if !ok || strings.TrimLeft(indent, " \t") != "" || i+len(c.lines) > len(lines) {
			continue
		}
		same := func(a, b string) bool { return strings.TrimPrefix(a, indent) == b }
		if slices.EqualFunc(lines[i:i+len(c.lines)], c.lines, same) {
			return true
		}
	}
	return false
}

// TestGoIsCompiled checks that the Go of the documents is a part of files that are compiled with the
// project.
func TestGoIsCompiled(t *testing.T) {
	for _, path := range documents(t) {
		for _, c := range codesOf(t, path, "go") {
			if filepath.Ext(c.from) != ".go" {
				t.Errorf("%s:%d: Go that is not compiled; <!-- test: from FILE --> says of which file it is", path, c.line)
			}
		}
	}
}

// TestCodeIsPartOfFiles checks that what documents show of files is in them.
func TestCodeIsPartOfFiles(t *testing.T) {
	for _, path := range documents(t) {
		for _, language := range []string{"go", "yaml", "json"} {
			for _, c := range codesOf(t, path, language) {
				if c.from != "" && !c.isPartOf(read(t, filepath.Join(root, c.from))) {
					t.Errorf("%s:%d: not a part of %s", path, c.line, c.from)
				}
			}
		}
	}
}

// TestConfigurations checks that each configuration in a document can be used, or is refused where
// that is said.
func TestConfigurations(t *testing.T) {
	for _, path := range documents(t) {
		for _, c := range codesOf(t, path, "yaml") {
			if c.from != "" || c.foreign {
				continue
			}
			if err := usable(strings.Join(c.lines, "\n")); (err != nil) != c.wrong {
				t.Errorf("%s:%d: %v", path, c.line, err)
			}
		}
	}
}

// TestExamples checks the configurations of the examples.
func TestExamples(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(root, "examples/*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no examples (%v)", err)
	}
	for _, path := range paths {
		if err := usable(read(t, path)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestExampleHasAllOfTheSpecification checks that the example that the guide goes through has each line of the
// one that the reader of configurations is tested with, in order.
func TestExampleHasAllOfTheSpecification(t *testing.T) {
	example := strings.Split(read(t, filepath.Join(root, "examples/http.yaml")), "\n")
	for line := range strings.Lines(read(t, filepath.Join(root, "userspace/config/testdata/example.yaml"))) {
		i := slices.Index(example, strings.TrimSuffix(line, "\n"))
		if i < 0 {
			t.Fatalf("examples/http.yaml lacks, where it should be, the line %q", line)
		}
		example = example[i+1:]
	}
}

// usable returns why a configuration cannot be used, or what is doubtful in it.
func usable(text string) error {
	file, err := config.Parse("headgate.yaml", []byte(text))
	if err != nil {
		return err
	}
	if len(file.Warnings) > 0 {
		return file.Warnings[0]
	}
	_, err = ruleset.New(file.HTTP)
	return err
}

func codesOf(tb testing.TB, path, language string) []code {
	tb.Helper()
	found, err := codes(read(tb, path), language)
	if err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
	return found
}

func TestIsPartOf(t *testing.T) {
	file := "func main() {\n\tif x {\n\t\ty()\n\t}\n}\n"
	for _, c := range []struct {
		lines string
		want  bool
	}{
		{"if x {\n\ty()\n}", true},
		{"\tif x {\n\t\ty()\n\t}", true},
		{"if x {\n\tz()\n}", false},
		{"x {", false},
		{"}\n\n\n", false},
	} {
		part := code{lines: strings.Split(c.lines, "\n")}
		if got := part.isPartOf(file); got != c.want {
			t.Errorf("%q: %t, want %t", c.lines, got, c.want)
		}
	}
}
