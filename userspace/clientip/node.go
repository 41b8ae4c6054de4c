package clientip

import (
	"net/netip"
	"strings"
)

// Peer returns the address in a http.Request's RemoteAddr, and an invalid one
// for what has none: a unix socket has "" or "@" or a path.
func Peer(remoteAddr string) netip.Addr {
	addr, _ := parseNode(remoteAddr)
	return addr
}

// bare returns addr in its one form for each host.
func bare(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }

// parseNode returns the address of 192.0.2.1, 192.0.2.1:80, 2001:db8::1,
// [2001:db8::1] or [2001:db8::1]:80, each IPv6 address with or without a zone.
func parseNode(s string) (netip.Addr, bool) {
	host, ok := cutPort(s)
	if !ok {
		return netip.Addr{}, false
	}
	// Cut here, as the address is looked at without it and netip would keep it in
	// a table of all zones.
	host, zone, zoned := strings.Cut(host, "%")
	addr, err := netip.ParseAddr(host)
	if err != nil || zoned && (zone == "" || addr.Is4()) {
		return netip.Addr{}, false
	}
	return addr.Unmap(), true
}

// cutPort returns s without brackets and port. What it returns has colons only
// if it is to be an IPv6 address.
func cutPort(s string) (host string, ok bool) {
	if inside, found := strings.CutPrefix(s, "["); found {
		host, port, closed := strings.Cut(inside, "]")
		return host, closed && strings.Contains(host, ":") && (port == "" || isPort(port))
	}
	colon := strings.IndexByte(s, ':')
	if colon < 0 || strings.IndexByte(s[colon+1:], ':') >= 0 {
		return s, true
	}
	return s[:colon], isPort(s[colon:])
}

// isPort reports whether s is a colon and a port, a number or an obfuscated one
// (RFC 7239, 6.2).
func isPort(s string) bool {
	s, ok := strings.CutPrefix(s, ":")
	if obfuscated, found := strings.CutPrefix(s, "_"); found {
		return ok && obfuscated != "" && isObfuscated(obfuscated)
	}
	for _, c := range []byte(s) {
		ok = ok && '0' <= c && c <= '9'
	}
	return ok && 1 <= len(s) && len(s) <= 5
}

// isObfuscated reports whether s has only what obfuscated names are made of.
func isObfuscated(s string) bool {
	for _, c := range []byte(s) {
		if !isAlphanumeric(c) && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
