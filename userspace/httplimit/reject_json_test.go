package httplimit

import (
	"encoding/json"
	"testing"
)

// object is the body of a refusal.
type object struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail"`
	Violated []string `json:"violated-policies"`
}

// TestProblemIsWrittenAsByJSON compares our writer with encoding/json.
func TestProblemIsWrittenAsByJSON(t *testing.T) {
	for _, text := range []string{"", "perip", `a "quoted" name`, `back\slash`, "<b>&amp;", "ü\x00\n", "\xff", "\u2028", "~ !"} {
		for _, violated := range [][]string{{}, {text}, {"one", text, "two"}} {
			p := problem{Type: "type", Title: "The title", Status: 429, Detail: []byte(text + "d")}
			want, err := json.Marshal(object{p.Type, p.Title, p.Status, string(p.Detail), violated})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(p.appendJSON(nil, violated)); got != string(want)+"\n" {
				t.Errorf("got  %swant %s", got, want)
			}
		}
	}
}
