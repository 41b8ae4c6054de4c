package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// sinkChain is the chain at the end; what other chains count is over a limit.
const sinkChain = "sink"

// parseNFT reads what nft -t -j list ruleset prints: the counter of each rule.
func parseNFT(out []byte) (counts, error) {
	var list struct {
		NFTables []struct {
			Rule *struct {
				Chain string
				Expr  []struct {
					Counter *struct{ Packets uint64 }
				}
			}
		}
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return counts{}, fmt.Errorf("read the rules of nft: %w", err)
	}
	packets := map[bool]uint64{}
	for _, object := range list.NFTables {
		if object.Rule == nil {
			continue
		}
		for _, e := range object.Rule.Expr {
			if e.Counter != nil {
				packets[object.Rule.Chain == sinkChain] += e.Counter.Packets
			}
		}
	}
	passed, ok := packets[true]
	if !ok {
		return counts{}, fmt.Errorf("nft lists no rule that counts in the chain %s", sinkChain)
	}
	return counts{passed: passed, over: packets[false]}, nil
}

// parseIptables reads what iptables -nvxL prints of a chain with two rules: the limit, and the end behind it.
func parseIptables(out io.Reader) (counts, error) {
	var packets []uint64
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) > 2 && fields[2] == "DROP" {
			n, err := strconv.ParseUint(fields[0], 10, 64)
			if err != nil {
				return counts{}, fmt.Errorf("read the counters of iptables: %w", err)
			}
			packets = append(packets, n)
		}
	}
	if err := lines.Err(); err != nil {
		return counts{}, err
	}
	if len(packets) != 2 {
		return counts{}, fmt.Errorf("iptables lists %d rules that drop, not 2", len(packets))
	}
	return counts{over: packets[0], passed: packets[1]}, nil
}
