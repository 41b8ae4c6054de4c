package main

import (
	"net/netip"

	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
)

// linkLocal has the link-local addresses; the rest of fe80::/10 is unused (RFC 4291).
var linkLocal = netip.MustParsePrefix("fe80::/64")

// sourceBits returns how many bits of an address like this make a source. Link-local ones are never
// cut.
func sourceBits(config *policymap.Config, addr netip.Addr) int {
	switch {
	case addr.Is4():
		return config.IPv4Prefix
	case linkLocal.Contains(addr):
		return addr.BitLen()
	default:
		return config.IPv6Prefix
	}
}

func familyOf(addr netip.Addr) (name, flag string) {
	if addr.Is4() {
		return "IPv4", "--ipv4-prefix"
	}
	return "IPv6", "--ipv6-prefix"
}

// checkWhole refuses a limit for a part of a source: the source has one bucket, and each of two
// limits would forgive what it owes by the other.
func checkWhole(config *policymap.Config, prefix netip.Prefix) error {
	bits := sourceBits(config, prefix.Addr())
	if prefix.Bits() <= bits {
		return nil
	}
	family, flag := familyOf(prefix.Addr())
	return usagef("%s sources are /%d here, so %s is a part of one: limit %s, or attach with %s %d",
		family, bits, prefix, netip.PrefixFrom(prefix.Addr(), bits).Masked(), flag, prefix.Bits())
}

// checkSources refuses sources that limits are set for parts of.
func checkSources(i *loader.Instance, config *policymap.Config) error {
	rules, err := i.Rules().List()
	if err != nil {
		return err
	}
	for _, r := range rules {
		addr := r.Prefix.Addr()
		if bits := sourceBits(config, addr); r.Action == rulemap.Limit && r.Prefix.Bits() > bits {
			_, flag := familyOf(addr)
			return usagef("%s %d: %s has a limit of its own and would be a part of a source; use %d or more, "+
				"or `headgate unset %s` first", flag, bits, r.Prefix, r.Prefix.Bits(), r.Prefix)
		}
	}
	return nil
}
