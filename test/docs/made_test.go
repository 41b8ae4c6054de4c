package docs_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/httplimit"
	"github.com/headgate/headgate/userspace/ruleset"
)

var update = flag.Bool("update", false, "write into the documents what the program says now")

// The documents that have made parts: that of HTTP limits, that of the whole file, and what a bench has measured.
const (
	guide         = root + "/docs/http.md"
	configuration = root + "/docs/configuration.md"
	readme        = root + "/README.md"
)

// TestMadeParts checks the parts of documents that the program can say itself. Such a part is between the
// comments <!-- made: NAME --> and <!-- end -->; with -update it is written.
func TestMadeParts(t *testing.T) {
	made := map[string]map[string]string{
		guide:         {"header families": headerFamilies(t)},
		configuration: {},
		readme:        goodputParts(t),
		peersPage:     peersParts(t),
		scalePage:     scaleParts(t),
	}
	for _, section := range sections() {
		document := configuration
		if section == "http" || strings.HasPrefix(section, "http.") {
			document = guide
		}
		made[document]["fields "+section] = fieldTable(section)
	}
	for document, parts := range made {
		checkMade(t, document, parts)
	}
}

// checkMade checks that a document has these parts, as they are here, and no other.
func checkMade(t *testing.T, document string, made map[string]string) {
	text := read(t, document)
	for name, want := range made {
		before, rest, ok := strings.Cut(text, "<!-- made: "+name+" -->\n")
		got, after, end := strings.Cut(rest, "<!-- end -->")
		switch {
		case !ok || !end:
			t.Errorf("%s has no <!-- made: %s --> with an <!-- end -->", document, name)
		case *update:
			text = before + "<!-- made: " + name + " -->\n" + want + "<!-- end -->" + after
		case got != want:
			t.Errorf("%s: %s: it is\n%s\nand go test ./test/docs -update makes\n%s", document, name, got, want)
		}
	}
	if n := strings.Count(text, "<!-- made: "); n != len(made) {
		t.Errorf("%s has %d made parts, and there are %d", document, n, len(made))
	}
	if *update {
		rewrite(t, document, text)
	}
}

func rewrite(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// sections returns the paths of the mappings that fields are in, in order.
func sections() []string {
	var all []string
	for _, f := range config.Fields() {
		if section, _ := cutLast(f.Path); len(all) == 0 || all[len(all)-1] != section {
			all = append(all, section)
		}
	}
	return all
}

// fieldTable returns the fields of a mapping as a table of Markdown.
func fieldTable(section string) string {
	var b strings.Builder
	b.WriteString("| field | what to write | default | meaning |\n|---|---|---|---|\n")
	for _, f := range config.Fields() {
		if s, name := cutLast(f.Path); s == section {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, f.Form, f.Default, f.Meaning)
		}
	}
	return b.String()
}

func cutLast(path string) (section, name string) {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return "file", path
	}
	return path[:i], path[i+1:]
}

// headerFamilies returns what the header fields of a response are in each family: of the first request that
// examples/login.yaml limits, and of the fourth, which is refused.
func headerFamilies(tb testing.TB) string {
	tb.Helper()
	file, err := config.Parse("login.yaml", []byte(read(tb, filepath.Join(root, "examples/login.yaml"))))
	if err != nil {
		tb.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| `headers` | of the first request | of the fourth, refused |\n|---|---|---|\n")
	for _, style := range []config.HeaderStyle{
		config.HeadersDraft10, config.HeadersPolli, config.HeadersXRateLimit, config.HeadersXRate, config.HeadersOff,
	} {
		set, err := ruleset.New(file.HTTP)
		if err != nil {
			tb.Fatal(err)
		}
		stopped := func() time.Duration { return 0 }
		h := httplimit.New(set, httplimit.Options{Headers: style, Clock: stopped})(http.NotFoundHandler())
		first, last := fieldsOf(h), ""
		for range 3 {
			last = fieldsOf(h)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", style, first, last)
	}
	return b.String()
}

// fieldsOf returns the fields about limits of a response.
func fieldsOf(h http.Handler) string {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/login", nil))
	var lines []string
	for _, name := range []string{
		"RateLimit-Policy", "RateLimit", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
		"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
		"X-Rate-Limit-Limit", "X-Rate-Limit-Remaining", "X-Rate-Limit-Reset", "Retry-After",
	} {
		if value := w.Header().Get(name); value != "" {
			lines = append(lines, fmt.Sprintf("`%s: %s`", name, value))
		}
	}
	if len(lines) == 0 {
		return "none"
	}
	return strings.Join(lines, "<br>")
}
