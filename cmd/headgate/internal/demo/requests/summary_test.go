package requests

import (
	"bytes"
	"testing"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/test/golden"
)

func summaryOf(t *testing.T) Summary {
	t.Helper()
	return Summary{
		Checks: []Check{
			flooded(t).check("handed down", 22), visited(t, 100).check("handed down", 100),
			newRecord(t, flooder).check("again", 0), visited(t, 10).check("again", 10),
		},
		Facts: []Fact{
			same("packets dropped as blocked", 480, 480, "the interface"),
			{"for how long", "2 s", "2 s", "the file", true},
		},
		Costs:     []Cost{{"a request refused by the agent", 1000, 0.02, 0.01}, {"a packet dropped by the kernel", 0, 0, 0.01}},
		Visit:     0.0006,
		FirstDrop: 0.0012,
	}
}

func TestSummary(t *testing.T) {
	good := summaryOf(t)
	if good.Off() != 0 || good.Lines() != 6 {
		t.Errorf("%d of %d off, want 0 of 6", good.Off(), good.Lines())
	}
	bad := summaryOf(t)
	bad.Checks[1].Backend = 99
	bad.Checks[1].judge()
	bad.Facts[0] = same("packets dropped as blocked", 480, 479, "the interface")
	if bad.Off() != 2 {
		t.Errorf("%d off, want 2", bad.Off())
	}
	for name, s := range map[string]Summary{"summary": good, "summary_off": bad} {
		for _, f := range []render.Format{render.Table, render.JSON} {
			var b bytes.Buffer
			if err := render.Write(&b, f, s); err != nil {
				t.Fatal(err)
			}
			golden.Check(t, name+"."+f.String(), b.Bytes())
		}
	}
}

func TestPicture(t *testing.T) {
	var b bytes.Buffer
	if err := render.Write(&b, render.Table, picture{flooded(t), visited(t, 100)}); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "picture", b.Bytes())
}
