package clientip

import (
	"net/netip"
	"slices"
)

// networks is a set of addresses, as spans that do not overlap and are in order.
// The lists of CDNs have hundreds of prefixes, and each hop is looked up.
type networks []span

// span has the addresses from first to last, both of one family.
type span struct{ first, last netip.Addr }

// newNetworks returns the set of all addresses in prefixes; those that are not
// valid have none.
func newNetworks(prefixes []netip.Prefix) networks {
	var spans networks
	for _, p := range prefixes {
		if p.IsValid() {
			spans = append(spans, spanOf(unmapped(p)))
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return a.first.Compare(b.first) })
	merged := spans[:0]
	for _, s := range spans {
		// Prefixes overlap only if one is in the other, which sorts first or is equal.
		if n := len(merged); n > 0 && s.first.Compare(merged[n-1].last) <= 0 {
			merged[n-1].last = maxAddr(merged[n-1].last, s.last)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// contain reports whether addr, which is bare, is in one of the networks.
func (n networks) contain(addr netip.Addr) bool {
	i, found := slices.BinarySearchFunc(n, addr, func(s span, addr netip.Addr) int { return s.first.Compare(addr) })
	return found || i > 0 && addr.Compare(n[i-1].last) <= 0
}

// spanOf returns the addresses of a prefix.
func spanOf(p netip.Prefix) span {
	first := p.Masked().Addr()
	last := first.AsSlice()
	for bit := p.Bits(); bit < len(last)*8; bit++ {
		last[bit/8] |= 0x80 >> (bit % 8)
	}
	end, _ := netip.AddrFromSlice(last) // of 4 or 16 bytes, as first is
	return span{first, end}
}

// maxAddr returns the later of two addresses.
func maxAddr(a, b netip.Addr) netip.Addr {
	if a.Compare(b) < 0 {
		return b
	}
	return a
}

// unmapped returns the IPv4 prefix that a prefix of IPv4-mapped addresses stands
// for, and others as they are.
func unmapped(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}
