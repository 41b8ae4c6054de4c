package main

import (
	"strings"
	"testing"
)

// Recorded of nft 1.0.6, without some chains and rules, and of iptables 1.8.9.
const (
	nftRules = `{"nftables": [{"metainfo": {"version": "1.0.6", "release_name": "Lester Gooch #5", "json_schema_version": 1}}, ` +
		`{"table": {"family": "netdev", "name": "bench", "handle": 1}}, ` +
		`{"counter": {"family": "netdev", "name": "passed", "table": "bench", "handle": 2, "packets": 1005, "bytes": 46230}}, ` +
		`{"counter": {"family": "netdev", "name": "over", "table": "bench", "handle": 3, "packets": 18995, "bytes": 873770}}, ` +
		`{"set": {"family": "netdev", "name": "sources", "table": "bench", "type": "ipv4_addr", "handle": 6, "size": 2097152, "flags": ["timeout"], "timeout": 3600}}, ` +
		`{"chain": {"family": "netdev", "table": "bench", "name": "sink", "handle": 1, "type": "filter", "hook": "ingress", "prio": 0, "policy": "accept"}}, ` +
		`{"rule": {"family": "netdev", "table": "bench", "chain": "sink", "handle": 4, "expr": [{"counter": "passed"}, {"drop": null}]}}]}`

	iptablesRules = `Chain PREROUTING (policy ACCEPT 0 packets, 0 bytes)
    pkts      bytes target     prot opt in     out     source               destination         
   18996   531888 DROP       0    --  far0   *       0.0.0.0/0            0.0.0.0/0            limit: above 1000/sec burst 1000 mode srcip htable-size 1048576 htable-max 1048576 htable-expire 3600000
    1004    28112 DROP       0    --  far0   *       0.0.0.0/0            0.0.0.0/0           
`
)

func TestParseNFT(t *testing.T) {
	got, err := parseNFT([]byte(nftRules))
	if want := (counts{passed: 1005, over: 18995}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

func TestParseIptables(t *testing.T) {
	got, err := parseIptables(strings.NewReader(iptablesRules))
	if want := (counts{passed: 1004, over: 18996}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

func TestParseErrors(t *testing.T) {
	for _, out := range []string{"", "{", `{"nftables": []}`, `{"nftables": [{"counter": {"name": "passed", "packets": -1}}]}`} {
		if got, err := parseNFT([]byte(out)); err == nil {
			t.Errorf("nft %q: %+v", out, got)
		}
	}
	one, _, _ := strings.Cut(iptablesRules, "    1004")
	for _, out := range []string{"", one, strings.Replace(iptablesRules, "18996", "18K", 1)} {
		if got, err := parseIptables(strings.NewReader(out)); err == nil {
			t.Errorf("iptables %q: %+v", out, got)
		}
	}
}
