package config

import (
	"fmt"
	"strings"
)

// maxName is the longest name, in bytes. Names end up in header fields and labels of metrics.
const maxName = 64

// unusual reports whether c may not be in the name of a zone.
func unusual(c rune) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return false
	}
	return !strings.ContainsRune("._-", c)
}

// checkName adds an error unless name is what zones and rules may be called.
func (v value) checkName(name string) bool {
	if len(name) > maxName {
		v.fail("name longer than %d characters; use a shorter one", maxName)
		return false
	}
	if strings.ContainsFunc(name, unusual) {
		v.fail("name %.40q has other characters than letters, digits, dots, dashes and underscores; use only these", name)
		return false
	}
	return true
}

// choices returns name, which is wrong, and what may stand in its place.
func choices(name string, known []string) string {
	near, similar := nearest(name, known)
	switch {
	case len(known) == 0:
		return fmt.Sprintf("%.40q; there are none", name)
	case similar:
		return fmt.Sprintf("%.40q; did you mean %s? use %s", name, near, either(known))
	default:
		return fmt.Sprintf("%.40q; use %s", name, either(known))
	}
}

// mostNamed is how many names an error lists.
const mostNamed = 20

// either returns "a, b or c".
func either(names []string) string {
	if more := len(names) - mostNamed; more > 0 {
		return fmt.Sprintf("%s or one of %d more", strings.Join(names[:mostNamed], ", "), more)
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// nearest returns the name that name could be a slip of: at most two edits away, and no more
// than half of it.
func nearest(name string, known []string) (string, bool) {
	if len(name) > maxName {
		return "", false
	}
	best, fewest := "", 3
	for _, k := range known {
		if len(k) > len(name)+2 || len(name) > len(k)+2 {
			continue // the longest part of the work, saved
		}
		if d := distance(strings.ToLower(name), k); d < fewest && 2*d <= len(k) {
			best, fewest = k, d
		}
	}
	return best, best != ""
}

// distance returns how many bytes must be inserted, removed or replaced to make b of a
// (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
