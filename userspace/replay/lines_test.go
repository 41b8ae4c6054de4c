package replay

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

type numbered struct {
	line uint64
	text string
}

// cutAll returns the lines of what r has, with their numbers. The text of one that is too long is "long".
func cutAll(t *testing.T, r io.Reader) (lines []numbered, err error) {
	t.Helper()
	c := newCutter(r)
	for {
		got, err := c.next()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
		if got.tooLong {
			lines = append(lines, numbered{got.line, "long"})
			continue
		}
		number := got.line
		for line := range strings.Lines(got.text) {
			lines = append(lines, numbered{number, strings.TrimSuffix(line, "\n")})
			number++
		}
	}
}

// However what is read comes in pieces, its lines are the same.
func TestLinesAreWhole(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	var want []numbered
	for n := range 3000 {
		line := strings.Repeat("x", random.IntN(1000))
		switch n {
		case 7:
			line = strings.Repeat("y", MaxLine)
		case 2500:
			line = strings.Repeat("y", 2*readSize)
		}
		text.WriteString(line + "\n")
		want = append(want, numbered{uint64(n + 1), line})
	}
	text.WriteString("end")
	want = append(want, numbered{3001, "end"})
	for name, r := range map[string]io.Reader{
		"at once":   strings.NewReader(text.String()),
		"in halves": iotest.HalfReader(strings.NewReader(text.String())),
		"with EOF":  iotest.DataErrReader(strings.NewReader(text.String())),
		"with BOM":  strings.NewReader("\ufeff" + text.String()),
		"packed":    packed(t, text.String()),
	} {
		got, err := cutAll(t, r)
		if err != nil || !cmp.Equal(got, want, cmp.AllowUnexported(numbered{})) {
			t.Errorf("%s: %d lines, %v; want the %d", name, len(got), err, len(want))
		}
	}
}

func packed(t *testing.T, text string) io.Reader {
	t.Helper()
	var b bytes.Buffer
	for part := range strings.SplitAfterSeq(text, "y\n") { // as cat a.gz b.gz has it
		z := gzip.NewWriter(&b)
		if _, err := io.WriteString(z, part); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return &b
}

func TestLinesThatAreTooLong(t *testing.T) {
	long := strings.Repeat("z", 3*MaxLine)
	got, err := cutAll(t, iotest.HalfReader(strings.NewReader("a\n"+long+"\nb\n"+long)))
	want := []numbered{{1, "a"}, {2, "long"}, {3, "b"}, {4, "long"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(numbered{})); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestShortRecordings(t *testing.T) {
	for text, want := range map[string]int{"": 0, "\n": 1, "a": 1, "\xef": 1, "\ufeff": 0, "\ufeffa": 1} {
		if got, err := cutAll(t, strings.NewReader(text)); err != nil || len(got) != want {
			t.Errorf("%q: %v, %v; want %d lines", text, got, err, want)
		}
	}
}

// What was read before an error is not lost.
func TestLinesBeforeAnError(t *testing.T) {
	whole, err := io.ReadAll(packed(t, strings.Repeat("line\n", 100_000)))
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]io.Reader{
		"timeout":   iotest.TimeoutReader(strings.NewReader(strings.Repeat("line\n", 10_000))),
		"truncated": bytes.NewReader(whole[:len(whole)/2]),
	} {
		got, err := cutAll(t, r)
		if err == nil || len(got) == 0 {
			t.Errorf("%s: %d lines, error %v; want both", name, len(got), err)
		}
	}
	if _, err := cutAll(t, strings.NewReader("\x1f\x8bnot gzip")); err == nil {
		t.Error("no error for what is not gzip")
	}
}
