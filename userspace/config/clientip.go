package config

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/headgate/headgate/userspace/clientip"
)

func (s *section) readClientIP(v value) {
	m, ok := v.mapping(clientIPFields())
	if !ok {
		return
	}
	before := len(v.file.errors)
	c := &s.ClientIP
	c.Header = m.text("header")
	if t := m.field("trusted_proxies"); t.given() {
		c.TrustedProxies, c.TrustUnix = t.proxies()
	}
	c.Hops = int(m.count("hops", 1, clientip.MaxHops, 0))
	c.IPv4Prefix = int(m.count("ipv4_prefix", 1, 32, DefaultIPv4Prefix))
	c.IPv6Prefix = int(m.count("ipv6_prefix", 1, 128, DefaultIPv6Prefix))
	if len(v.file.errors) == before {
		s.checkTrust(m)
	}
}

// checkTrust asks the package that will resolve addresses whether it can work with that.
func (s *section) checkTrust(m mapping) {
	c := s.ClientIP
	_, err := clientip.New(clientip.Options{
		Header: c.Header, TrustedProxies: c.TrustedProxies, TrustUnix: c.TrustUnix, Hops: c.Hops,
		IPv4Prefix: c.IPv4Prefix, IPv6Prefix: c.IPv6Prefix,
	})
	if err != nil {
		m.fail("%s", strings.TrimPrefix(err.Error(), "client ip: "))
	}
}

// proxies returns trusted proxies.
func (v value) proxies() (list []netip.Prefix, unix bool) {
	elements, ok := v.list("an address, a prefix or unix")
	if ok && len(elements) == 0 {
		v.fail("empty; use %s", v.form)
	}
	for _, e := range elements {
		if e.isText("unix") {
			unix = true
			continue
		}
		if p, ok := e.prefix(); ok {
			list = append(list, p)
		}
	}
	return list, unix
}

// prefixes returns a list of addresses and prefixes.
func (v value) prefixes() ([]netip.Prefix, bool) {
	elements, ok := v.list("192.0.2.7, 192.0.2.0/24 or 2001:db8::/32")
	list := make([]netip.Prefix, 0, len(elements))
	for _, e := range elements {
		p, right := e.prefix()
		ok = ok && right
		list = append(list, p)
	}
	return slices.Clip(list), ok
}

// prefix returns an address or prefix, an address as one of full length. IPv4 in IPv6 is IPv4.
func (v value) prefix() (netip.Prefix, bool) {
	text, ok := v.text()
	if !ok {
		return netip.Prefix{}, false
	}
	p, err := parsePrefix(text)
	switch {
	case strings.Contains(text, "%"):
		v.fail("%.50q names an interface; leave out %% and what follows", text)
	case err != nil:
		v.fail("%.50q is not an address or a prefix; use %s", text, v.form)
	case p.Masked() != p:
		v.fail("%.50q has bits beyond its prefix; use %s for all of it, or %s for the address", text, p.Masked(), p.Addr())
	default:
		return p, true
	}
	return netip.Prefix{}, false
}

// parsePrefix reads an address or a prefix.
func parsePrefix(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return netip.Prefix{}, err
		}
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err == nil && p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p, err
}

// isText reports whether v is that text.
func (v value) isText(text string) bool {
	return v.node.Value == text && v.node.Tag == "!!str"
}

// isToken reports whether s is a token of HTTP, as methods and the names of header fields and
// cookies are.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			return false
		}
		return !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	})
}
