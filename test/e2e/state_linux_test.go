package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/test/netlab"
)

func pairTwo() netlab.PairOptions   { return netlab.PairOptions{NearName: "near1", FarName: "far1"} }
func pairThree() netlab.PairOptions { return netlab.PairOptions{NearName: "near2", FarName: "far2"} }

// state is all that a command could change: what is pinned, as which objects, what is attached,
// the configuration, rules and counters.
func (l *lab) state() string {
	l.tb.Helper()
	var s strings.Builder
	err := filepath.WalkDir(l.pin, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.HasPrefix(e.Name(), "config-") {
			return nil // another one at each change, also at one to what there is already
		}
		object := ""
		if !e.IsDir() {
			object = objectAt(path)
		}
		fmt.Fprintln(&s, path, e.Type(), object)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(&s, "no", l.pin)
	} else if err != nil {
		l.tb.Fatal(err)
	}
	fmt.Fprintln(&s, "attached:", l.programID())
	for _, view := range []string{"status", "policies", "rules", "stats", "top --once"} {
		r := l.run(append(strings.Fields(view), "-o", "json")...)
		fmt.Fprintln(&s, view, r.code, withoutSeconds(r.stdout), r.stderr)
	}
	return s.String()
}

// withoutSeconds takes out what changes by itself.
func withoutSeconds(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		var rule map[string]any
		if json.Unmarshal([]byte(strings.Trim(line, ",\n")), &rule) == nil {
			delete(rule, "expires_in_seconds")
			delete(rule, "expires")
			line = fmt.Sprintln(rule)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "")
}

// wantState checks that nothing has changed.
func (l *lab) wantState(before string) {
	l.tb.Helper()
	if diff := cmp.Diff(before, l.state()); diff != "" {
		l.tb.Errorf("changed (-before +after):\n%s", diff)
	}
}

// wantNoPins checks that there is no directory of an instance.
func (l *lab) wantNoPins() {
	l.tb.Helper()
	if _, err := os.Stat(l.pin); !errors.Is(err, fs.ErrNotExist) {
		l.tb.Errorf("stat %s: %v, want that it is not there", l.pin, err)
	}
}
