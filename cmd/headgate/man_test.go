package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestManPagesNameEachOther: of the commands that take a configuration file each page ends with the others, and the
// example of a trace stands as it is to be written.
func TestManPagesNameEachOther(t *testing.T) {
	dir := t.TempDir()
	c := newConsole()
	if code := c.run(t, "man", dir); code != exitDone {
		t.Fatalf("exit %d, %s", code, c.err.String())
	}
	page := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name+".8"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, others := range map[string]string{
		"headgate-check":   `\fBheadgate(8)\fP, \fBheadgate-explain(8)\fP, \fBheadgate-replay(8)\fP`,
		"headgate-explain": `\fBheadgate(8)\fP, \fBheadgate-check(8)\fP, \fBheadgate-replay(8)\fP`,
		"headgate-replay":  `\fBheadgate(8)\fP, \fBheadgate-check(8)\fP, \fBheadgate-explain(8)\fP`,
	} {
		if text := page(name); !strings.HasSuffix(text, ".SH SEE ALSO\n"+others+"\n") {
			t.Errorf("%s ends with %q", name, text[max(0, len(text)-200):])
		}
	}
	contains(t, page("headgate-replay"), ".EX\n{\"t_ms\":0,", "\"took_ms\":12.5}\n.EE\n")
}
