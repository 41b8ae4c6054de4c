package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate/headgate/test/bench/limiters"
	"github.com/headgate/headgate/test/bench/report"
)

// TestMain makes the test's program the benchmark itself, where a test starts it as a worker.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-worker" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestParse(t *testing.T) {
	tests := []struct {
		args []string
		want options
	}{
		{nil, options{Options: report.Options{Output: "table"}}},
		{[]string{"-quick", "-o", "json", "-svg", "x", "-only", "a|b"},
			options{Options: report.Options{Quick: true, Output: "json", SVG: "x"}, only: "a|b"}},
		{[]string{"-worker", "ulule"}, options{Options: report.Options{Output: "table"}, worker: "ulule"}},
	}
	for _, tt := range tests {
		got, err := parse(tt.args, io.Discard)
		if err != nil || got != tt.want {
			t.Errorf("parse(%q) = %+v, %v, want %+v", tt.args, got, err, tt.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, args := range [][]string{{"-o", "xml"}, {"quick"}, {"-none"}, {"-only", "("}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("parse(%q) succeeded", args)
		}
	}
	if _, err := parse([]string{"-h"}, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("parse(-h): got error %v, want %v", err, flag.ErrHelp)
	}
}

func TestOnly(t *testing.T) {
	tests := map[string][]string{
		"":            nil,
		"^ulule$":     {limiters.Reference, "ulule"},
		"no such one": {limiters.Reference},
	}
	for only, want := range tests {
		got := options{only: only}.subjects()
		if want == nil && len(got) == len(limiters.Subjects()) {
			continue
		}
		var names []string
		for _, s := range got {
			names = append(names, s.Name)
		}
		if strings.Join(names, ",") != strings.Join(want, ",") {
			t.Errorf("-only %q: %v, want %v", only, names, want)
		}
	}
}

// The workers are processes here, as in a real run.
func TestProcesses(t *testing.T) {
	b := &bench{plan: tiny(), subjects: options{only: "^x/time"}.subjects(), start: startProcess, progress: io.Discard}
	r, err := b.run()
	if err != nil {
		t.Fatal(err)
	}
	if got := len(r.Rows[0].Results); got != 3 {
		t.Errorf("%d results, want those of 3 subjects", got)
	}
	o := report.Options{Output: "json", SVG: filepath.Join(t.TempDir(), "plot.svg")}
	var out bytes.Buffer
	if err := o.Write(&out, r); err != nil || !json.Valid(out.Bytes()) {
		t.Errorf("JSON %q, %v", out.String(), err)
	}
}

func TestWorkerOfNothing(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(self, "-worker", "none").CombinedOutput()
	if err == nil || !strings.Contains(string(out), `no limiter "none"`) {
		t.Errorf("printed %q, %v", out, err)
	}
}
