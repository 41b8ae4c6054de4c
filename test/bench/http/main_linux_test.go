package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/test/bench/report"
	"github.com/headgate/headgate/test/need"
)

// TestMain lets processes of the benchmark be this program in other roles.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-role") {
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
		{[]string{"-quick", "-o", "json", "-svg", "x", "-only", "costs", "-headgate", "y"},
			options{Options: report.Options{Quick: true, Output: "json", SVG: "x"}, only: "costs", headgate: "y"}},
		{[]string{"-role", "exec", "-cpu", "1", "-nice", "-3", "--", "true", "-x"},
			options{Options: report.Options{Output: "table"}, role: "exec", place: placing{1, -3}, args: []string{"true", "-x"}}},
	}
	for _, tt := range tests {
		got, err := parse(tt.args, io.Discard)
		got.args = append([]string(nil), got.args...)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(options{}, placing{})); err != nil || diff != "" {
			t.Errorf("parse(%q): %v\n%s", tt.args, err, diff)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, args := range [][]string{{"-o", "xml"}, {"quick"}, {"-none"}, {"-only", "x"}, {"-role", "work", "x"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("parse(%q) succeeded", args)
		}
	}
	if _, err := parse([]string{"-h"}, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("parse(-h): got error %v, want %v", err, flag.ErrHelp)
	}
	if err := play(options{role: "none"}, nil, io.Discard); err == nil {
		t.Error("an unknown role is played")
	}
	if err := play(options{role: roleExec}, nil, io.Discard); err == nil {
		t.Error("no program is executed")
	}
}

// All is measured, in little time, and what clients and servers count is the same.
func TestMeasureAll(t *testing.T) {
	need.Root(t)
	need.CPUs(t, 2)
	p := plan{rounds: 1, phase: 400 * time.Millisecond, frames: 5000, asking: 1, each: 50 * time.Millisecond}
	r, err := measureAll(t.Context(), p, "", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	if err := r.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	t.Log(table.String())
	if len(r.Fronts) != len(candidates()) || len(r.Costs) != 6 || len(r.Memory) != 1 {
		t.Errorf("%d fronts, %d costs and %d sizes are reported", len(r.Fronts), len(r.Costs), len(r.Memory))
	}
	for _, f := range r.Fronts {
		if f.CPU <= 0 || f.Quiet <= 0 || f.Flooded <= 0 {
			t.Errorf("not all is measured: %+v", f)
		}
		if f.HandsDown && f.Until < 20-1 {
			t.Errorf("%s: handed down after %v refusals, want 20 or more", f.Name, f.Until)
		}
	}
}

func TestLengthOf(t *testing.T) {
	tests := []struct {
		text string
		want int
		err  bool
	}{
		{"", 0, false},
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", 0, false},
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 43, false},
		{"HTTP/1.1 200 OK\r\nContent-Length: 12\r\nX: y\r\n\r\nabc", 57, false},
		{"HTTP/1.1 200 OK\r\n\r\nContent-Length: 5\r\n\r\n", 0, true},
	}
	for _, tt := range tests {
		got, err := lengthOf([]byte(tt.text))
		if got != tt.want || (err != nil) != tt.err {
			t.Errorf("lengthOf(%q) = %d, %v, want %d, error %t", tt.text, got, err, tt.want, tt.err)
		}
	}
}

func TestParseAnswer(t *testing.T) {
	const text = "HTTP/1.1 429 Too Many Requests\r\nRatelimit: \"a\";r=0;t=1\r\nContent-Length: 2\r\n\r\nno"
	got, err := parseAnswer([]byte(text))
	if err != nil || got.status != 429 || !got.marked {
		t.Errorf("parseAnswer: %+v, %v", got, err)
	}
	fields, body := got.fields()
	want := [][2]string{{"Ratelimit", `"a";r=0;t=1`}, {"Content-Length", "2"}}
	if diff := cmp.Diff(want, fields); diff != "" || body != "no" {
		t.Errorf("fields: body %q\n%s", body, diff)
	}
	for _, wrong := range []string{"", "HTTP/1.1 4", "HTTP/1.0 200 OK\r\n", "HTTP/1.1 2x0 OK\r\n"} {
		if _, err := parseAnswer([]byte(wrong)); err == nil {
			t.Errorf("parseAnswer(%q) succeeded", wrong)
		}
	}
}

func TestSumOf(t *testing.T) {
	const text = "# HELP a_total x\na_total{x=\"1\",y=\"2\"} 3\na_total{x=\"1\",y=\"3\"} 4e+01\nb 7\n"
	tests := []struct {
		words []string
		want  int
		err   bool
	}{
		{[]string{"a_total", `x="1"`}, 43, false},
		{[]string{"a_total", `y="2"`}, 3, false},
		{[]string{"b"}, 7, false},
		{[]string{"c"}, 0, true},
	}
	for _, tt := range tests {
		got, err := sumOf(strings.NewReader(text), tt.words)
		if got != tt.want || (err != nil) != tt.err {
			t.Errorf("sumOf(%q) = %d, %v, want %d, error %t", tt.words, got, err, tt.want, tt.err)
		}
	}
}

func TestPercentile(t *testing.T) {
	sorted := []time.Duration{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for p, want := range map[int]time.Duration{1: 1, 50: 5, 51: 6, 99: 10, 100: 10} {
		if got := percentile(sorted, p); got != want {
			t.Errorf("percentile %d: %d, want %d", p, got, want)
		}
	}
}

func TestCheckDropped(t *testing.T) {
	tests := []struct {
		flood     Flooded
		meanwhile packets
		ok        bool
	}{
		{Flooded{Knocks: 10}, packets{dropped: 9, lost: 3, beside: 2}, true},
		{Flooded{Knocks: 10}, packets{dropped: 9, lost: 0, beside: 0}, false},
		{Flooded{Knocks: 10, Opened: 1}, packets{dropped: 10}, false},
		{Flooded{Knocks: 10, Refused: 1}, packets{dropped: 10}, false},
	}
	for _, tt := range tests {
		if err := checkDropped(tt.flood, tt.meanwhile); (err == nil) != tt.ok {
			t.Errorf("checkDropped(%+v, %+v) = %v", tt.flood, tt.meanwhile, err)
		}
	}
}
