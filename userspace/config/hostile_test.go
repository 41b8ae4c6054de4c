package config_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/headgate/headgate/userspace/config"
)

// hostile returns files that are meant to be expensive.
func hostile() map[string]string {
	laughs := "http: {rules: &r [{limits: &l [" + strings.Repeat("*l,", 1000) + "]}," + strings.Repeat("{limits: *r},", 1000) + "]}"
	return map[string]string{
		"aliases of aliases": laughs,
		"many aliases": "http: {rules: [{limits: [], match: {method: &m [" + strings.Repeat("GET,", 2000) +
			"]}}" + strings.Repeat(",{limits: [], match: {method: *m}}", 2000) + "]}",
		"deep lists":        "http: " + strings.Repeat("[", 1<<20),
		"deep mappings":     "http: " + strings.Repeat("{a: ", 1<<18),
		"deep blocks":       "http:\n - " + strings.Repeat("- ", 1<<20),
		"many fields":       "http: {" + fields(1<<13) + "}",
		"many rules":        "http: {rules: [" + strings.Repeat("{limits: []},", 1<<12) + "]}",
		"many wrong rules":  "http: {rules: [" + strings.Repeat("{},", 1<<13) + "]}",
		"many null rules":   "http: {rules: [" + strings.Repeat("~,", 1<<13) + "]}",
		"long text":         "http: {headers: " + strings.Repeat("x", 1<<19) + "}",
		"long name":         "http: {" + strings.Repeat("x", 1000) + ": 1}",
		"long expression":   "http: {rules: [{limits: [], match: {path: '~ " + strings.Repeat("(a", 1<<19) + "'}}]}",
		"large expressions": "http: {rules: [" + strings.Repeat("{limits: [], match: {path: '~ "+strings.Repeat("a{1000}", 500)+"'}},", 100) + "]}",
		"one expression again and again": "http: {rules: [{limits: [], match: {path: &p '~ " + strings.Repeat("a{1000}", 9) + "'}}" +
			strings.Repeat(",{limits: [], match: {path: *p}}", 1000) + "]}",
		"many prefixes":  "kernel: {interfaces: [a], rules: [{block: true, prefix: [" + addresses(1<<14) + "]}]}",
		"one prefix":     "kernel: {interfaces: [a], rules: [{block: true, prefix: [" + strings.Repeat("192.0.2.1,", 1<<14) + "]}]}",
		"many policies":  "kernel: {interfaces: [a], policies: [" + strings.Repeat("{name: a, rate: 1pps},", 1<<12) + "]}",
		"many listeners": "{upstream: 'http://a', listen: ['0.0.0.0:80'," + strings.Repeat("'127.0.0.1:80',", 1<<12) + "]}",
		"many files":     "kernel: {interfaces: [a], rule_files: [" + strings.Repeat("{file: a, block: true},", 1<<12) + "]}",
		"quotes":         strings.Repeat("\"", 1<<20),
		"anchors":        strings.Repeat("&a ", 1<<20),
		"questions":      strings.Repeat("? ", 1<<20),
		"comments":       strings.Repeat("#\n", 1<<17),
		"documents":      strings.Repeat("---\n", 1<<19),
		"tags":           "http: !" + strings.Repeat("t", 1<<20) + " a",
	}
}

func addresses(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "10.0.%d.%d,", i>>8, i&0xff)
	}
	return b.String()
}

func fields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "f%d: 1,", i)
	}
	return b.String()
}

// TestHostileFiles: what is expensive to read is refused, or read, without much ado.
func TestHostileFiles(t *testing.T) {
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			file, err := config.Parse("FILE", []byte(text))
			if (file == nil) == (err == nil) {
				t.Errorf("file %v, error %v: want one of them", file, err)
			}
			if err != nil && len(err.Error()) > 20_000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestAliasesAreBounded(t *testing.T) {
	files := hostile()
	refused(t, files["aliases of aliases"], "and 81 more")
	refused(t, files["many aliases"], "aliases repeat more than 100000 values")
}

func TestExpressionsAreBounded(t *testing.T) {
	files := hostile()
	for _, name := range []string{"large expressions", "one expression again and again"} {
		refused(t, files[name], "the expressions up to here have more than 1048576 steps together")
	}
}

func TestSizeIsBounded(t *testing.T) {
	largest := bytes.Repeat([]byte{'\n'}, config.MaxSize)
	if _, err := config.Read("FILE", bytes.NewReader(largest)); err != nil {
		t.Errorf("%d bytes: %v", len(largest), err)
	}
	_, err := config.Read("FILE", io.MultiReader(bytes.NewReader(largest), neverEnds{}))
	if want := "FILE: larger than 4 MiB; use a smaller file"; err == nil || err.Error() != want {
		t.Errorf("one byte more: %v, want %s", err, want)
	}
}

// neverEnds is a reader that always has more.
type neverEnds struct{}

func (neverEnds) Read(p []byte) (int, error) { return len(p), nil }

// TestSyntaxErrorOfALargeFile: where looking for the line would take long, the parser's word stays.
func TestSyntaxErrorOfALargeFile(t *testing.T) {
	text := "http:\n" + strings.Repeat("  # comment\n", 1<<15) + "  rules: []\n bad: 1\n"
	refused(t, text, "FILE: not YAML: line 32770: did not find expected key; indent")
}

func TestReadErrorIsWrapped(t *testing.T) {
	broken := errors.New("disk on fire")
	_, err := config.Read("FILE", iotest.ErrReader(broken))
	if !errors.Is(err, broken) || err.Error() != "read FILE: disk on fire" {
		t.Errorf("error %v, want read FILE: disk on fire", err)
	}
}
