package clientip_test

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/headgate/headgate/userspace/clientip"
)

// reference is a second way to find the client: it splits the whole header,
// with regular expressions for the grammar, and then looks at the list.
type reference struct {
	options              clientip.Options
	element, pair        *regexp.Regexp
	ipv4, ipv6, brackets *regexp.Regexp
}

// newReference returns the reference for options that are right.
func newReference(o clientip.Options) reference {
	const port = `(:([0-9]{1,5}|_[A-Za-z0-9._-]+))?`
	return reference{
		options:  o,
		element:  regexp.MustCompile(`(?s)(^|,)((?:[^",\\]|"(?:[^"\\]|\\.)*")*)$`),
		pair:     regexp.MustCompile("(?s)^[ \t]*(?:([A-Za-z0-9!#$%&'*+.^_`|~-]+)=(?:\"((?:[^\"\\\\]|\\\\.)*)\"|([^\"; \t]+)))?[ \t]*(?:;|$)"),
		ipv4:     regexp.MustCompile(`^([0-9.]+)` + port + `$`),
		ipv6:     regexp.MustCompile(`(?s)^([0-9A-Fa-f.]*:[0-9A-Fa-f:.]*)(%.+)?$`),
		brackets: regexp.MustCompile(`(?s)^\[([0-9A-Fa-f.]*:[0-9A-Fa-f:.]*)(%[^\]]+)?\]` + port + `$`),
	}
}

// client returns the address that is charged for lines of the header.
func (r reference) client(peer netip.Addr, lines []string) netip.Addr {
	o := r.options
	believed := o.Hops > 0 && len(o.TrustedProxies) == 0 && !o.TrustUnix || !peer.IsValid() && o.TrustUnix || r.trusted(peer)
	if o.Header == "" || !believed {
		return peer
	}
	hops := o.Hops
	if o.Header != "X-Forwarded-For" && o.Header != "Forwarded" {
		hops = 1
	}
	list := r.split(lines)
	if hops == 0 {
		return r.walk(peer, list)
	}
	for _, hop := range []int{hops, 1} { // the last value, where the right one is missing
		if hop <= len(list) && list[hop-1].IsValid() && list[hop-1].Zone() != "unix" {
			return list[hop-1]
		}
	}
	return peer
}

// walk returns the first address of list that is no proxy's, or the last one
// before that.
func (r reference) walk(peer netip.Addr, list []netip.Addr) netip.Addr {
	for _, addr := range list[:min(len(list), 64)] {
		if addr.Zone() == "unix" && r.options.TrustUnix {
			continue
		}
		if !addr.IsValid() || addr.Zone() == "unix" {
			return peer
		}
		peer = addr
		if !r.trusted(addr) {
			return addr
		}
	}
	return peer
}

// trusted looks at each prefix.
func (r reference) trusted(addr netip.Addr) bool {
	return slices.ContainsFunc(r.options.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// split returns the addresses of all values, from the right. What is no address is
// an invalid one, and the name of a unix socket one with that zone.
func (r reference) split(lines []string) (list []netip.Addr) {
	for _, line := range slices.Backward(lines) {
		for more := true; more; {
			var value string
			var ok bool
			value, line, more, ok = r.cutLast(line)
			if !ok {
				return append(list, netip.Addr{})
			}
			list = append(list, r.address(strings.Trim(value, " \t")))
		}
	}
	return list
}

// cutLast cuts the last value off a line.
func (r reference) cutLast(line string) (value, rest string, more, ok bool) {
	if r.options.Header == "Forwarded" {
		at := r.element.FindStringSubmatchIndex(line)
		if at == nil {
			return "", "", false, false
		}
		value, rest, more = line[at[4]:], line[:at[2]], at[3] > at[2]
	} else {
		all := strings.Split(line, ",")
		value, rest, more = all[len(all)-1], strings.Join(all[:len(all)-1], ","), len(all) > 1
	}
	return value, rest, more, len(value) <= 1024
}

// address returns the address of a value.
func (r reference) address(value string) netip.Addr {
	if r.options.Header == "Forwarded" {
		value = r.forNode(value)
	} else if value == "unix:" && r.options.Header == "X-Forwarded-For" {
		return netip.IPv6Unspecified().WithZone("unix")
	}
	for _, form := range []*regexp.Regexp{r.ipv4, r.ipv6, r.brackets} {
		if found := form.FindStringSubmatch(value); found != nil {
			addr, _ := netip.ParseAddr(found[1])
			return addr.Unmap()
		}
	}
	return netip.Addr{}
}

// forNode returns the only "for" of an element, and "" if it has not one.
func (r reference) forNode(element string) string {
	var nodes []string
	for element != "" {
		at := r.pair.FindStringSubmatch(element)
		if at == nil {
			return ""
		}
		if strings.EqualFold(at[1], "for") {
			nodes = append(nodes, at[2]+at[3])
		}
		element = element[len(at[0]):]
	}
	if len(nodes) != 1 {
		return ""
	}
	return nodes[0]
}
