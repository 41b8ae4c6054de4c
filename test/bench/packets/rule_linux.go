package main

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"

	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/wire"
)

// blocks returns n rules that block, for random prefixes all over the addresses in use, with
// lengths as in common blocklists, none of which covers a frame. They are the same in each run.
func blocks(n int, draw func(*rand.Rand) netip.Prefix) []rulemap.Rule {
	random := rand.New(rand.NewPCG(1, 2))
	seen := make(map[netip.Prefix]bool, n)
	rules := make([]rulemap.Rule, 0, n)
	for len(rules) < n {
		prefix := draw(random)
		if seen[prefix] || coversFrame(prefix) {
			continue
		}
		seen[prefix] = true
		rules = append(rules, rulemap.Rule{Prefix: prefix, Action: rulemap.Block, Until: rulemap.Forever})
	}
	return rules
}

func lengths4() []int { return []int{16, 20, 22, 24, 24, 24, 28, 32, 32, 32} }

func drawPrefix4(random *rand.Rand) netip.Prefix {
	lengths := lengths4()
	var addr [4]byte
	binary.BigEndian.PutUint32(addr[:], random.Uint32())
	return netip.PrefixFrom(netip.AddrFrom4(addr), lengths[random.IntN(len(lengths))]).Masked()
}

func drawPrefix6(random *rand.Rand) netip.Prefix {
	lengths := [...]int{32, 40, 48, 48, 56, 64, 64, 128}
	var addr [16]byte
	binary.BigEndian.PutUint64(addr[:], random.Uint64())
	binary.BigEndian.PutUint64(addr[8:], random.Uint64())
	addr[0] = 0x20 | addr[0]&0x1f // global unicast
	return netip.PrefixFrom(netip.AddrFrom16(addr), lengths[random.IntN(len(lengths))]).Masked()
}

func coversFrame(prefix netip.Prefix) bool {
	return prefix.Contains(source4()) || prefix.Contains(source6()) || prefix.Overlaps(spreadRange())
}

// listed returns n rules, one of which does action to the frames' own source.
func listed(n int, action rulemap.Action, limit wire.Limit) []rulemap.Rule {
	source := netip.PrefixFrom(source4(), source4().BitLen())
	own := rulemap.Rule{Prefix: source, Action: action, Until: rulemap.Forever, Limit: limit}
	return append(blocks(n-1, drawPrefix4), own)
}
