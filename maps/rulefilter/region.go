package rulefilter

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"

	"github.com/headgate/headgate/bpf"
)

// addRegions marks the regions that a network is in, or that are in it.
func (f *Filter) addRegions(generation uint32, p netip.Prefix) {
	if !p.Addr().Is4() || p.IsSingleIP() {
		return
	}
	lines := generationOf(f.regions, generation)
	b := p.Addr().As4()
	first := binary.BigEndian.Uint32(b[:]) >> (32 - bpf.RegionBits)
	for region := first; region < first+(1<<max(bpf.RegionBits-p.Bits(), 0)); region++ {
		atomic.OrUint64(&lines[region>>9].Words[region>>6&7], 1<<(region&63))
	}
}
