package docs_test

import (
	"slices"
	"strings"
	"testing"
)

// edits are what commands of a document print now, by line, in order.
type edits []edit

type edit struct {
	command
	prints string
}

func (e *edits) add(c command, prints string) { *e = append(*e, edit{c, prints}) }

// apply writes them into the document, with -update.
func (e edits) apply(tb testing.TB, path string) {
	tb.Helper()
	if *update && len(e) > 0 {
		rewrite(tb, path, e.in(read(tb, path)))
	}
}

// in returns a document with them.
func (e edits) in(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for _, c := range slices.Backward(e) {
		lines = slices.Replace(lines, c.line, c.line+strings.Count(c.shows, "\n"), c.prints)
	}
	return strings.Join(lines, "")
}

func TestEdits(t *testing.T) {
	text := "```console\n$ a\n1\n2\n$ b\n$ c\n3\n```\nend\n"
	all, err := blocks(text)
	if err != nil {
		t.Fatal(err)
	}
	var e edits
	for i, prints := range []string{"one\n", "two\nlines\n", ""} {
		e.add(all[0].commands[i], prints)
	}
	if got, want := e.in(text), "```console\n$ a\none\n$ b\ntwo\nlines\n$ c\n```\nend\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
