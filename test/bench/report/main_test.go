package report

import (
	"errors"
	"flag"
	"io"
	"testing"
)

func TestParse(t *testing.T) {
	tests := []struct {
		args []string
		want Options
	}{
		{nil, Options{Output: "table"}},
		{[]string{"-quick", "-o", "json", "-svg", "x"}, Options{Quick: true, Output: "json", SVG: "x"}},
	}
	for _, tt := range tests {
		got, err := Parse("bench", "", tt.args, io.Discard)
		if err != nil || got != tt.want {
			t.Errorf("parse(%q) = %+v, %v, want %+v", tt.args, got, err, tt.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, args := range [][]string{{"-o", "xml"}, {"quick"}, {"-none"}} {
		if _, err := Parse("bench", "", args, io.Discard); err == nil {
			t.Errorf("parse(%q) succeeded", args)
		}
	}
	if _, err := Parse("bench", "", []string{"-h"}, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("parse(-h): got error %v, want %v", err, flag.ErrHelp)
	}
}
