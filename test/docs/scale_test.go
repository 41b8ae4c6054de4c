package docs_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// scalePage is about many sources and many CPUs.
const scalePage = root + "/docs/scale.md"

// scaleParts returns the parts of that page that are made of a run of the bench.
func scaleParts(tb testing.TB) map[string]string {
	bench := read(tb, filepath.Join(root, "docs/bench-scale.txt"))
	return map[string]string{"sizes": sizesTable(bench), "cpus": cpusTable(bench)}
}

func sizesTable(bench string) string {
	var b strings.Builder
	b.WriteString("| sources | room for | under the limit | over it |\n|---:|---:|---:|---:|\n")
	for _, row := range benchRows(bench, "ns per packet", 4) {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	return b.String()
}

func cpusTable(bench string) string {
	var b strings.Builder
	b.WriteString("| | 1 CPU | 2 CPUs | ratio | 16, estimate | 64, estimate |\n|---|---:|---:|---:|---:|---:|\n")
	for _, row := range benchRows(bench, "Mpps", 6) {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	return b.String()
}

func TestScaleTables(t *testing.T) {
	bench := `method  3 rounds

ns per packet    room for     under      over
1,000               1,024      61.0      60.0

Mpps                             1 CPU    2 CPUs   ratio 16, estimate 64, estimate
noop (drop)                      10.00     20.00    2.00          160          640
a source for each CPU, over      16.00     24.00    1.50           24           24

a CPU sees what the other wrote after 123.4 ns
`
	if got := sizesTable(bench); !strings.HasSuffix(got, "---:|\n| 1,000 | 1,024 | 61.0 | 60.0 |\n") {
		t.Errorf("%s", got)
	}
	const cpus = "| noop (drop) | 10.00 | 20.00 | 2.00 | 160 | 640 |\n| a source for each CPU, over | 16.00 | 24.00 | 1.50 | 24 | 24 |\n"
	if got := cpusTable(bench); !strings.HasSuffix(got, "---:|\n"+cpus) {
		t.Errorf("%s", got)
	}
}
