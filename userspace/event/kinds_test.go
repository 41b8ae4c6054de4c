package event_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/headgate/headgate/userspace/event"
)

// TestKindsAreAll compares Kinds with the constants of the source.
func TestKindsAreAll(t *testing.T) {
	text, err := os.ReadFile("event.go")
	if err != nil {
		t.Fatal(err)
	}
	var want []event.Kind
	for _, m := range regexp.MustCompile(`(?m)^\t\w+ +Kind = "(\w+)"`).FindAllSubmatch(text, -1) {
		want = append(want, event.Kind(m[1]))
	}
	if got := event.Kinds(); len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("Kinds returns %q, the constants are %q", got, want)
	}
}
