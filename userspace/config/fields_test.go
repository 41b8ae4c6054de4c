package config_test

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headgate/headgate/userspace/config"
)

// TestFieldsAreRead: of each field in the list, the wrong kind of value is noticed at its path; so
// each is read, and there is none that the list lacks.
func TestFieldsAreRead(t *testing.T) {
	for _, f := range config.Fields() {
		t.Run(f.Path, func(t *testing.T) {
			_, err := config.Parse("FILE", []byte(fileWith(f.Path)))
			problems, _ := errors.AsType[config.Errors](err)
			path := strings.ReplaceAll(f.Path, "[]", "[0]")
			form := f.Form
			if strings.HasSuffix(path, "].value") {
				form = "192.0.2.7, 192.0.2.0/24 or 2001:db8::/32" // of that key
			}
			at := func(p config.Problem) bool {
				return p.Path == path && p.Text == "tag !wrong is unknown, as all are; use "+form
			}
			if !slices.ContainsFunc(problems, at) {
				t.Errorf("of a wrong value the errors are\n%v", err)
			}
			if slices.ContainsFunc(problems, func(p config.Problem) bool { return strings.Contains(p.Text, "unknown field") }) {
				t.Errorf("unknown field: %v", err)
			}
		})
	}
}

// fileWith returns a file in which only the field of a path is given, wrongly, and what is needed
// to say what would be right.
func fileWith(path string) string {
	parts := strings.Split(path, ".")
	text := "!wrong 1"
	for _, p := range slices.Backward(parts) {
		name, list := strings.CutSuffix(p, "[]")
		if list {
			text = "[" + text + "]"
		}
		switch {
		case name == "overrides" && strings.HasSuffix(path, ".concurrent"):
			text = "{key: ip, concurrent: 1, overrides: " + text + "}"
		case name == "overrides":
			text = "{key: ip, rate: 1r/s, overrides: " + text + "}"
		default:
			text = "{" + name + ": " + text + "}"
		}
	}
	return text
}

// TestFieldsAreTold: each field says what to write, what applies without it and what it means.
func TestFieldsAreTold(t *testing.T) {
	seen := make(map[string]bool)
	for _, f := range config.Fields() {
		if f.Form == "" || f.Default == "" || f.Meaning == "" || seen[f.Path] {
			t.Errorf("%+v: something is missing, or told twice", f)
		}
		seen[f.Path] = true
	}
}

// TestFullExample: a file can have every field of the list, but for those of which one excludes the others.
func TestFullExample(t *testing.T) {
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	parse(t, string(full))
	for _, f := range config.Fields() {
		name := f.Path[strings.LastIndexByte(f.Path, '.')+1:]
		if f.Path == "adaptive.errors" || f.Path == "adaptive.in_flight" {
			continue // there is latency
		}
		if !regexp.MustCompile(`\b` + name + `:`).Match(full) {
			t.Errorf("the full example lacks %s", f.Path)
		}
	}
}
