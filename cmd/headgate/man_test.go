package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate/headgate/userspace/config"
)

// manPages makes the pages, and returns what reads one of them.
func manPages(t *testing.T) func(name string) string {
	t.Helper()
	dir := t.TempDir()
	c := newConsole()
	if code := c.run(t, "man", dir); code != exitDone {
		t.Fatalf("exit %d, %s", code, c.err.String())
	}
	return func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// Pages that belong together end with the names of each other, and the example of a trace stands as it is to be written.
func TestManPagesNameEachOther(t *testing.T) {
	page := manPages(t)
	for name, others := range map[string]string{
		"headgate-check":   `headgate(8) headgate\-explain(8) headgate\-replay(8) headgate.yaml(5)`,
		"headgate-explain": `headgate(8) headgate\-check(8) headgate\-replay(8) headgate.yaml(5)`,
		"headgate-replay":  `headgate(8) headgate\-check(8) headgate\-explain(8) headgate.yaml(5)`,
		"headgate-run":     `headgate(8) headgate\-agent(8) headgate\-reload(8) headgate\-drain(8) headgate.yaml(5)`,
		"headgate-fleet":   `headgate(8) headgate-fleet-rules(8) headgate\-block(8) headgate\-allow(8) headgate\-set(8) headgate\-unset(8)`,
		"headgate-drain":   `headgate(8) headgate\-run(8) headgate\-agent(8) headgate\-reload(8) headgate.yaml(5)`,
	} {
		want := seeAlso + `\fB` + strings.ReplaceAll(others, " ", `\fP, \fB`) + "\\fP\n"
		if text := page(name + ".8"); !strings.HasSuffix(text, want) {
			t.Errorf("%s ends with %q, want %q", name, text[max(0, len(text)-200):], want)
		}
	}
	contains(t, page("headgate-replay.8"), ".EX\n{\"t_ms\":0,", "\"took_ms\":12.5}\n.EE\n")
}

// What an administrator looks for in a page of a service is there, and a flag that is given or not has no value.
func TestManPagesAreWhole(t *testing.T) {
	page := manPages(t)
	contains(t, page("headgate-run.8"), "\\fB--help\\fP\n", ".SH FILES\n", ".SH SIGNALS\n", "SIGHUP", ".SH ENVIRONMENT\n", ".SH EXIT STATUS\n")
	contains(t, page("headgate.8"), ".SH FILES\n", ".SH ENVIRONMENT\n", "HEADGATE_SOCKET", "headgate.yaml(5)")
}

// The page of the file has all its fields, and an example that can be used.
func TestManPageOfTheFile(t *testing.T) {
	page := manPages(t)("headgate.yaml.5")
	for _, f := range config.Fields() {
		section, name := "THE FILE", f.Path
		if i := strings.LastIndexByte(f.Path, '.'); i >= 0 {
			section, name = f.Path[:i], f.Path[i+1:]
		}
		_, after, ok := strings.Cut(page, ".SH "+section+"\n")
		fields, _, _ := strings.Cut(after, ".SH ")
		if !ok || !strings.Contains(fields, ".TP\n"+bold(name)+"\n") {
			t.Errorf("the page lacks %s", f.Path)
		}
	}
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "'") || strings.Contains(line, "`") {
			t.Errorf("this is no text: %q", line)
		}
	}
	file, err := config.Parse("headgate.yaml", []byte(manExample))
	if err != nil || len(file.Warnings) > 0 {
		t.Errorf("the example: %v, %v", err, file.Warnings)
	}
}
