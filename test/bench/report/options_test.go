package report

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOptions(t *testing.T) {
	plot := filepath.Join(t.TempDir(), "plot.svg")
	for _, tt := range []struct{ args, wrong, begins string }{
		{"", "", "kernel"},
		{"-o json -svg " + plot, "", "{"},
		{"-o xml", `output format "xml": use table or json`, ""},
		{"quick", `unknown argument "quick"; there are only flags`, ""},
	} {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		var o Options
		o.AddTo(flags, "")
		if err := flags.Parse(strings.Fields(tt.args)); err != nil {
			t.Fatal(err)
		}
		err := o.Check(flags.Args())
		if tt.wrong != "" {
			if err == nil || err.Error() != tt.wrong {
				t.Errorf("%q: error %v, want %s", tt.args, err, tt.wrong)
			}
			continue
		}
		var out bytes.Buffer
		if err := o.Write(&out, goodput()); err != nil || !strings.HasPrefix(out.String(), tt.begins) {
			t.Errorf("%q: %v, %.20q", tt.args, err, out.String())
		}
	}
	if text, err := os.ReadFile(plot); err != nil || !bytes.Contains(text, []byte("<svg")) {
		t.Errorf("the plot is %.20q: %v", text, err)
	}
	o := Options{SVG: filepath.Join(plot, "x")}
	if err := o.Write(io.Discard, goodput()); err == nil {
		t.Error("a plot is written below a file")
	}
}
