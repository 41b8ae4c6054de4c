package metrics_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headgate/headgate/userspace/metrics"
)

// The guide names all metrics, with the labels and the help that they have.
func TestTableOfMetrics(t *testing.T) {
	var b strings.Builder
	b.WriteString("| metric | kind | labels | what |\n|---|---|---|---|\n")
	all := gather(t, metrics.New(full()))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		var labels []string
		for _, l := range f.Metric[0].Label {
			labels = append(labels, "`"+l.GetName()+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, strings.ToLower(f.GetType().String()), strings.Join(labels, ", "), f.GetHelp())
	}
	guide, err := os.ReadFile("../../deploy/prometheus/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(guide), b.String()) {
		t.Errorf("deploy/prometheus/README.md does not have this table:\n%s", &b)
	}
}
