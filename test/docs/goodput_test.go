package docs_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// columns separates the columns of what a bench prints.
var columns = regexp.MustCompile(` {2,}`)

// benchRows returns the rows of a table that a bench has printed, which begins with a heading and has so many columns.
func benchRows(text, heading string, width int) (rows [][]string) {
	_, table, _ := strings.Cut(text, "\n"+heading)
	table, _, _ = strings.Cut(table, "\n\n")
	for line := range strings.Lines(table) {
		row := columns.Split(strings.TrimSpace(line), -1)
		if len(row) == width && !strings.HasPrefix(line, " ") { // which begins the second line of a heading
			rows = append(rows, row)
		}
	}
	return rows
}

// goodputTable returns what the bench of HTTP has said of servers that are flooded, as a table of Markdown.
func goodputTable(bench string) string {
	var b strings.Builder
	b.WriteString("| in front of the backend | requests kept in the flood | p99, ms | CPU µs a refused attempt, kept connections | a new one each | refused until handed down |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|\n")
	alone := map[string][]string{}
	for _, row := range benchRows(bench, "the flood alone", 6) {
		alone[row[0]] = row
	}
	for _, row := range benchRows(bench, "goodput of a client", 6) {
		if cost, measured := alone[row[0]]; measured {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", row[0], row[5], row[4], cost[2], cost[3], cost[5])
		}
	}
	for _, row := range benchRows(bench, "the flood alone", 3) {
		fmt.Fprintf(&b, "| %s | | | %s | %s | |\n", row[0], row[1], row[2])
	}
	for _, row := range benchRows(bench, "frames that a driver hands over", 3) {
		fmt.Fprintf(&b, "| from a driver: %s | | | %s | %s | |\n", row[0], row[1], row[2])
	}
	return b.String()
}

// costTable returns what the bench has said of the agent's costs.
func costTable(bench string) string {
	var b strings.Builder
	b.WriteString("| CPU µs a request | without limits | headgate | requests a second of CPU time, as a share |\n|---|---:|---:|---:|\n")
	for _, row := range benchRows(bench, "what the agent costs", 7) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", row[0], row[4], row[5], row[6])
	}
	return b.String()
}

// goodputParts returns the parts of the README that are made of a run of the bench.
func goodputParts(tb testing.TB) map[string]string {
	bench := read(tb, filepath.Join(root, "docs/bench-goodput.txt"))
	return map[string]string{"goodput": goodputTable(bench), "costs": costTable(bench)}
}

func TestBenchTables(t *testing.T) {
	bench := `date    2026-11-30T04:49:20Z

goodput of a client that works     without the flood      during the flood   kept
                               requests/s     p99 ms requests/s     p99 ms
nginx limit_req                       740       1.22        735       1.83    99%
headgate                              720       2.79        699       4.57    97%

the flood alone                               CPU us an attempt        CPU  refused until
                               attempts/s  kept conn   new conn       busy    handed down
nginx limit_req                     38339       6.76      29.46        27%              -
headgate                            35872       1.88       1.89         4%            253
a program that only drops                       1.75       1.75

frames that a driver hands over, as fast as they come: CPU us for each request that is dropped
headgate, handed down                          0.175      0.372

what the agent costs                      requests/s   ratio      CPU us a request   ratio
                                     bare   headgate               bare   headgate
proxy, refused                      67836      57304    0.83       14.5       17.3    0.84
memory of the agent: 65.5 MiB after the first round, 65.5 after the last, 65.5 at most
`
	const goodput = `| nginx limit_req | 99% | 1.83 | 6.76 | 29.46 | - |
| headgate | 97% | 4.57 | 1.88 | 1.89 | 253 |
| a program that only drops | | | 1.75 | 1.75 | |
| from a driver: headgate, handed down | | | 0.175 | 0.372 | |
`
	if got := goodputTable(bench); !strings.HasSuffix(got, "---:|\n"+goodput) {
		t.Errorf("%s", got)
	}
	if got := costTable(bench); !strings.HasSuffix(got, "---:|\n| proxy, refused | 14.5 | 17.3 | 0.84 |\n") {
		t.Errorf("%s", got)
	}
}
