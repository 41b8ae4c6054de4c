package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// parseNFT reads what nft -t -j list ruleset prints.
func parseNFT(out []byte) (counts, error) {
	var list struct {
		NFTables []struct {
			Counter *struct {
				Name    string
				Packets uint64
			}
		}
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return counts{}, fmt.Errorf("read the counters of nft: %w", err)
	}
	named := map[string]uint64{}
	for _, object := range list.NFTables {
		if c := object.Counter; c != nil {
			named[c.Name] = c.Packets
		}
	}
	passed, ok := named["passed"]
	if !ok {
		return counts{}, errors.New("nft lists no counter named passed")
	}
	return counts{passed: passed, over: named["over"]}, nil
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
