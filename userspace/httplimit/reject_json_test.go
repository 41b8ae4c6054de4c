package httplimit

import (
	"encoding/json"
	"testing"
)

// TestProblemIsWrittenAsByJSON compares our writer with encoding/json.
func TestProblemIsWrittenAsByJSON(t *testing.T) {
	for _, text := range []string{"", "perip", `a "quoted" name`, `back\slash`, "<b>&amp;", "ü\x00\n", "\xff", "\u2028", "~ !"} {
		for _, violated := range [][]string{{}, {text}, {"one", text, "two"}} {
			p := problem{Type: text, Title: "t" + text, Status: 429, Detail: text + "d", Violated: violated}
			want, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(p.json()); got != string(want)+"\n" {
				t.Errorf("got  %swant %s", got, want)
			}
		}
	}
}
