package render_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
)

func TestParseFormat(t *testing.T) {
	for _, f := range []render.Format{render.Table, render.JSON} {
		if got, err := render.ParseFormat(f.String()); got != f || err != nil {
			t.Errorf("%s: %v, %v", f, got, err)
		}
	}
	for _, s := range []string{"", "xml", "JSON", "table "} {
		_, err := render.ParseFormat(s)
		if want := fmt.Sprintf("output %q: use table or json", s); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", s, err, want)
		}
	}
	if got := render.Format(9).String(); got != "format 9" {
		t.Error(got)
	}
}

// Whatever a view is, its JSON is one value with nothing behind it, and its table has no spaces at
// the ends of lines.
func TestShape(t *testing.T) {
	for name, view := range views() {
		text := write(t, render.JSON, view)
		if !json.Valid(text) || !bytes.HasSuffix(text, []byte("\n")) {
			t.Errorf("%s: not JSON with a newline at its end: %s", name, text)
		}
		for line := range strings.Lines(string(write(t, render.Table, view))) {
			if !strings.HasSuffix(line, "\n") || strings.HasSuffix(line, " \n") {
				t.Errorf("%s: the line %q", name, line)
			}
		}
	}
}

// hostile is a view of what somebody else wrote.
type hostile string

func (h hostile) Table(p *render.Page) {
	s := string(h)
	p.Line("%s", s)
	p.Facts(render.Fact{Name: s, Value: s})
	p.Grid([]render.Column{{Name: "A"}, {Name: "B", Right: true}}, [][]string{{s, "1"}, {"x", "2"}})
}

// What does not print does not reach the terminal.
func TestTablesCommandNoTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b[31m":     "\\x1b[31m\n\\x1b[31m  \\x1b[31m\nA         B\n\\x1b[31m  1\nx         2\n",
		"\u009b\u202e": "\\u009b\\u202e\n\\u009b\\u202e  \\u009b\\u202e\nA             B\n\\u009b\\u202e  1\nx             2\n",
		"ä\x9b":        "ä\ufffd\nä\ufffd  ä\ufffd\nA   B\nä\ufffd  1\nx   2\n",
		"a\nb":         "a\nb\na\nb  a\nb\nA     B\na\\nb  1\nx     2\n",
	} {
		if got := string(write(t, render.Table, hostile(text))); got != want {
			t.Errorf("%q: got\n%q, want\n%q", text, got, want)
		}
	}
}

// An element is what encoding/json makes of it, wherever it is in the list.
func TestListsAreTheirElements(t *testing.T) {
	for n := range len(rules()) + 1 {
		want, err := json.Marshal(rules()[:n])
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := json.Compact(&got, write(t, render.JSON, rules()[:n])); err != nil {
			t.Fatal(err)
		}
		if got.String() != string(want) {
			t.Errorf("%d rules: %s, want %s", n, got.String(), want)
		}
	}
}

var errFull = errors.New("no space left on device")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestWriteError(t *testing.T) {
	for _, f := range []render.Format{render.Table, render.JSON} {
		for name, view := range views() {
			if err := render.Write(fullDisk{}, f, view); !errors.Is(err, errFull) {
				t.Errorf("%s as %s: error %v", name, f, err)
			}
		}
		out := render.NewEvents(fullDisk{}, f)
		if err := out.Begin(); f == render.Table && !errors.Is(err, errFull) {
			t.Errorf("heading as %s: error %v", f, err)
		}
		if err := out.Write(render.Event{}); !errors.Is(err, errFull) {
			t.Errorf("event as %s: error %v", f, err)
		}
	}
}
