package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Problem is something in a file that is wrong, or doubtful.
type Problem struct {
	File string
	// Line and Column count from 1, the column in characters. 0 if it is about all of
	// the file, or of the line.
	Line, Column int
	Path         string // of the field: http.rules[2].limits[0].zone
	Text         string // what is wrong and what is right
}

// Error returns "FILE:12:7: http.zones.perip.rate: " and the text.
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	if p.Column > 0 {
		fmt.Fprintf(&b, ":%d", p.Column)
	}
	b.WriteString(": ")
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Text)
	return b.String()
}

// String returns what Error does.
func (p Problem) String() string { return p.Error() }

// Errors are all problems that keep a file from being used, in the order of the file.
type Errors []Problem

// mostShown is how many errors people are shown: enough to see them all in most files, and
// few enough to fit on a screen.
const mostShown = 20

// Error returns a line for each of the first 20, and how many more there are.
func (e Errors) Error() string {
	shown := min(len(e), mostShown)
	lines := make([]string, 0, shown+1)
	for _, p := range e[:shown] {
		lines = append(lines, p.Error())
	}
	if more := len(e) - shown; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the problems, for errors.As.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, p := range e {
		all[i] = p
	}
	return all
}

// printable returns text with what is no printable character written as in Go.
func printable(text string) string {
	if !strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return text
	}
	var b strings.Builder
	for _, c := range text {
		if unicode.IsPrint(c) {
			b.WriteRune(c)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(c), "'"))
		}
	}
	return b.String()
}

func sortByPosition(p []Problem) {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
