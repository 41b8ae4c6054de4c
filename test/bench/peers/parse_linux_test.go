package main

import (
	"strings"
	"testing"
)

// Recorded of nft 1.0.6, without its chains, and of iptables 1.8.9.
const (
	nftRules = `{"nftables": [{"metainfo": {"version": "1.0.6", "release_name": "Lester Gooch #5", "json_schema_version": 1}}, ` +
		`{"table": {"family": "netdev", "name": "bench", "handle": 1}}, ` +
		`{"set": {"family": "netdev", "name": "sources", "table": "bench", "type": "ipv4_addr", "handle": 4, "size": 2097152, "flags": ["timeout"], "timeout": 3600}}, ` +
		`{"rule": {"family": "netdev", "table": "bench", "chain": "sink", "handle": 2, "expr": [{"counter": {"packets": 1004, "bytes": 46184}}, {"drop": null}]}}, ` +
		`{"rule": {"family": "netdev", "table": "bench", "chain": "limiter", "handle": 5, "expr": [{"set": {"op": "update", "elem": {"payload": {"protocol": "ip", "field": "saddr"}}, "set": "@sources", "stmt": [{"limit": {"rate": 1000, "burst": 1000, "per": "second", "inv": true}}]}}, {"counter": {"packets": 474, "bytes": 21804}}, {"drop": null}]}}, ` +
		`{"rule": {"family": "netdev", "table": "bench", "chain": "total", "handle": 7, "expr": [{"limit": {"rate": 100000, "burst": 1000, "per": "second", "inv": true}}, {"counter": {"packets": 18522, "bytes": 852012}}, {"drop": null}]}}]}`

	iptablesRules = `Chain PREROUTING (policy ACCEPT 0 packets, 0 bytes)
    pkts      bytes target     prot opt in     out     source               destination         
   18996   531888 DROP       0    --  far0   *       0.0.0.0/0            0.0.0.0/0            limit: above 1000/sec burst 1000 mode srcip htable-size 1048576 htable-max 1048576 htable-expire 3600000
    1004    28112 DROP       0    --  far0   *       0.0.0.0/0            0.0.0.0/0           
`
)

func TestParseNFT(t *testing.T) {
	got, err := parseNFT([]byte(nftRules))
	if want := (counts{passed: 1004, over: 18996}); err != nil || got != want {
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
	for _, out := range []string{"", "{", `{"nftables": []}`, `{"nftables": [{"rule": {"chain": "sink", "expr": [{"counter": {"packets": -1}}]}}]}`, strings.ReplaceAll(nftRules, `"sink"`, `"s"`)} {
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
