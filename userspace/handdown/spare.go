package handdown

import (
	"net/netip"

	"github.com/headgate/headgate/userspace/config"
)

// exempt returns why there must be no rule for prefix, that addr is in, as far as it can be known without the
// kernel; empty if nothing speaks against it.
func (h *HandDown) exempt(addr netip.Addr, prefix netip.Prefix, s *settings) Reason {
	switch {
	case !prefix.IsValid():
		return Unknown
	case overlaps(whole(addr), unusual()):
		return Unusual
	case !s.Private && overlaps(prefix, private()):
		return Private
	case overlaps(prefix, unusual()):
		return Unusual
	case overlaps(prefix, s.trusted):
		return TrustedProxy
	case !addr.IsLoopback() && h.o.Local(addr):
		return Own
	case s.Action == config.Limit && prefix.Bits() > s.sourcePrefix(addr).Bits():
		return shared(addr)
	default:
		return ""
	}
}

// shared returns why addr, which is a part of a source, must have no limit: that would be for the others too.
func shared(addr netip.Addr) Reason {
	if isTranslated(addr) {
		return Translated
	}
	return Neighbour
}

// whole returns the prefix that only addr is in.
func whole(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	return netip.PrefixFrom(addr, addr.BitLen())
}

func overlaps(p netip.Prefix, with []netip.Prefix) bool {
	for _, w := range with {
		if p.Overlaps(w) {
			return true
		}
	}
	return false
}

// unusual returns what no client has as its address.
func unusual() []netip.Prefix {
	return prefixes(
		"0.0.0.0/8",          // "this network" (RFC 791)
		"224.0.0.0/4",        // multicast
		"255.255.255.255/32", // broadcast
		"::/128",
		"ff00::/8", // multicast
	)
}

// private returns the addresses of whoever is near: behind them may be the operator, or everybody.
func private() []netip.Prefix {
	return prefixes(
		"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", // RFC 1918
		"127.0.0.0/8", "169.254.0.0/16",
		"100.64.0.0/10", // carrier-grade NAT (RFC 6598)
		"::1/128", "fe80::/10",
		"fc00::/7", // unique local (RFC 4193)
	)
}

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}
