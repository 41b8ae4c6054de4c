package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// peersPage is about the bench beside other limiters of packets.
const peersPage = root + "/docs/bench-peers.md"

// peersHeading begins a table of one load; what stands before it is the load's name.
var peersHeading = regexp.MustCompile(`(?m)^(.+?) {2,}Mpps {2,}most .*$`)

// peersTable returns the packets a second that a run has found, as a table of Markdown: a row for each receiver, a column
// for each load.
func peersTable(bench string) string {
	head, line, rows := "| Mpps |", "|---|", []string(nil)
	for _, heading := range peersHeading.FindAllStringSubmatch(bench, -1) {
		head, line = head+" "+heading[1]+" |", line+"---:|"
		for i, row := range benchRows(bench, heading[0], 9) {
			if i == len(rows) {
				rows = append(rows, "| "+row[0]+" |")
			}
			rows[i] += " " + row[1] + " (" + row[6] + ") |"
		}
	}
	return strings.Join(append([]string{head, line}, rows...), "\n") + "\n"
}

func peersParts(tb testing.TB) map[string]string {
	return map[string]string{
		"peers": peersTable(read(tb, filepath.Join(root, "docs/bench-peers.txt"))),
		"rules": peersRules(tb),
	}
}

// peersRules returns the rules of nft that the bench loads, each file as a block.
func peersRules(tb testing.TB) string {
	var b strings.Builder
	for _, name := range []string{"sink.nft", "set.nft", "total.nft"} {
		b.WriteString("`" + name + "`\n```\n" + read(tb, filepath.Join(root, "test/bench/peers/rules", name)) + "```\n")
	}
	return b.String()
}

func TestPeersTable(t *testing.T) {
	bench := `method  3 rounds, each of 1,000,000 packets per receiver; medians

1 source                         Mpps     most  ns/packet  x XDP_DROP    x nft  let through   limit lets  other drops
XDP_DROP alone                  8.001    8.000      125.0        1.00     8.00        0.00%            -            -
headgate, and a limit on all    2.000    4.000      500.0        0.25     2.00      100.00%      100.00%        0.00%

a new source each    Mpps     most  ns/packet  x XDP_DROP    x nft  let through   limit lets  other drops
XDP_DROP alone      8.002    8.000      125.0        1.00     8.00        0.00%            -            -
headgate, and a limit on all  2.001  4.000  500.0    0.25     2.00        1.02%      100.00%        0.00%

headgate: met
`
	const want = `| Mpps | 1 source | a new source each |
|---|---:|---:|
| XDP_DROP alone | 8.001 (0.00%) | 8.002 (0.00%) |
| headgate, and a limit on all | 2.000 (100.00%) | 2.001 (1.02%) |
`
	if got := peersTable(bench); got != want {
		t.Errorf("%s", got)
	}
}
