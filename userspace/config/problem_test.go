package config_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headgate/headgate/userspace/config"
)

func TestProblemText(t *testing.T) {
	for want, p := range map[string]config.Problem{
		"FILE:12:7: http.zones: no":  {File: "FILE", Line: 12, Column: 7, Path: "http.zones", Text: "no"},
		"FILE:12: no":                {File: "FILE", Line: 12, Text: "no"},
		"FILE: no":                   {File: "FILE", Text: "no"},
		"FILE:1:1: http: {a: b}: no": {File: "FILE", Line: 1, Column: 1, Path: "http: {a: b}", Text: "no"},
	} {
		if p.Error() != want || p.String() != want {
			t.Errorf("%q and %q, want %q", p.Error(), p.String(), want)
		}
	}
}

// TestProblemIsOneLine: what a file says cannot make an error say something else.
func TestProblemIsOneLine(t *testing.T) {
	for text, want := range map[string]string{
		`http: {rules: [{limits: [], match: {path: "~*\n\e[2Jx"}}]}`:  `use "~ (?i)\x1b[2Jx" to`,
		`http: {rules: [{limits: [], match: {path: "~ (\n"}}]}`:       "missing closing ): `(`",
		`http: {zones: {"a\nb": {}}, rules: [{limits: [{zone: c}]}]}`: `use a\nb`,
	} {
		_, err := config.Parse("FILE", []byte(text))
		problems, _ := errors.AsType[config.Errors](err)
		if lines := strings.Count(err.Error(), "\n") + 1; lines != len(problems) || !strings.Contains(err.Error(), want) {
			t.Errorf("%d problems in %d lines, want %s among them:\n%v", len(problems), lines, want, err)
		}
	}
}

// TestErrorsShowTwenty: 20 errors are shown in full, of more the number.
func TestErrorsShowTwenty(t *testing.T) {
	for _, n := range []int{1, 19, 20, 21, 99} {
		_, err := config.Parse("FILE", []byte("http:\n  rules:\n"+strings.Repeat("  - {}\n", n)))
		problems, ok := errors.AsType[config.Errors](err)
		if !ok || len(problems) != n {
			t.Fatalf("%d wrong rules: %d errors", n, len(problems))
		}
		lines := strings.Split(err.Error(), "\n")
		if want := min(n, 21); len(lines) != want {
			t.Errorf("%d wrong rules: %d lines, want %d", n, len(lines), want)
		}
		if last := lines[len(lines)-1]; n > 20 && last != fmt.Sprintf("and %d more", n-20) {
			t.Errorf("%d wrong rules: last line %q", n, last)
		}
		if first, ok := errors.AsType[config.Problem](err); !ok || first != problems[0] || first.Line != 3 {
			t.Errorf("%d wrong rules: the first problem is %+v", n, first)
		}
	}
}

// TestErrorsEnd: a file that is something else is not read to its end.
func TestErrorsEnd(t *testing.T) {
	for _, rules := range []string{strings.Repeat("  - {}\n", 500), strings.Repeat("  - {a: 1, b: 2, c: 3}\n", 500)} {
		_, err := config.Parse("FILE", []byte("http:\n  rules:\n"+rules))
		problems, _ := errors.AsType[config.Errors](err)
		if len(problems) != 101 || !strings.HasPrefix(problems[100].Text, "too much is wrong") {
			t.Errorf("%d errors, the last %v", len(problems), problems[len(problems)-1])
		}
	}
}

// TestErrorsAreSorted: whatever is looked at first, the file's order is told.
func TestErrorsAreSorted(t *testing.T) {
	_, err := config.Parse("FILE", []byte("http:\n  rules: [{}]\n  zones: {a: {}}\n  client_ip: 1\n  headers: 2\n"))
	problems, _ := errors.AsType[config.Errors](err)
	inOrder := slices.IsSortedFunc(problems, func(a, b config.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if len(problems) != 5 || !inOrder {
		t.Errorf("got %d errors: %v", len(problems), err)
	}
}
