package docs_test

import (
	"regexp"
	"testing"

	"github.com/headgate/headgate/userspace/event"
)

// TestEventsAreShown checks that the guides show an event of each kind once, and say what it means.
func TestEventsAreShown(t *testing.T) {
	text := read(t, root+"/docs/agent.md") + read(t, root+"/docs/fleet.md")
	for _, kind := range event.Kinds() {
		for what, pattern := range map[string]string{
			"an example":    `(?m)^\d\d:\d\d:\d\d\.\d{6}  ` + string(kind) + ` `,
			"what it means": `(?m)^\| ` + "`" + string(kind) + "`" + ` \| [^|]+ \|$`,
		} {
			if n := len(regexp.MustCompile(pattern).FindAllString(text, -1)); n != 1 {
				t.Errorf("docs/agent.md and docs/fleet.md have %s of the kind %s %d times", what, kind, n)
			}
		}
	}
}
