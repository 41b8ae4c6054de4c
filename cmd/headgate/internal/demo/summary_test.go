package demo

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/demo/packets"
	"github.com/headgate/headgate/cmd/headgate/internal/demo/requests"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
)

func TestVerdict(t *testing.T) {
	for want, s := range map[string]Summary{
		"✓ all 3 lines are what theory says": {
			Summary: packets.Summary{Mode: "native", Checks: []packets.Check{{OK: true}}, Totals: packets.Totals{OK: true}},
			HTTP:    requests.Summary{Facts: []requests.Fact{{OK: true}}},
		},
		"✗ 2 of 3 lines are not what they should be": {
			Summary: packets.Summary{Checks: []packets.Check{{}}, Totals: packets.Totals{OK: true}},
			HTTP:    requests.Summary{Checks: []requests.Check{{}}},
		},
	} {
		s.conclude(12345 * time.Millisecond)
		var b bytes.Buffer
		if err := render.Write(&b, render.Table, s); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "\n\n"+want) || s.OK != (s.Off() == 0) {
			t.Errorf("ok %t, want a verdict %q in:\n%s", s.OK, want, b.String())
		}
	}
}

// The summary of the first act has the names that it had when it was the only one.
func TestJSON(t *testing.T) {
	var s Summary
	s.conclude(time.Second)
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mode", "seconds", "checks", "totals", "ok", "http"} {
		if fields[name] == nil {
			t.Errorf("no field %s in %s", name, text)
		}
	}
}
