// Package ipproto reads what people write for IP protocols, by the names of IANA, and for ports.
package ipproto

import (
	"slices"
	"strconv"
	"strings"
)

// The protocols that others in headgate ask for.
const (
	TCP = 6
	UDP = 17
)

const (
	dccp    = 33
	sctp    = 132
	udplite = 136
)

type protocol struct {
	name   string
	number uint8
}

// protocols begin with those that are used most.
func protocols() []protocol {
	return []protocol{
		{"tcp", TCP}, {"udp", UDP}, {"icmp", 1}, {"icmpv6", 58}, {"sctp", sctp}, {"dccp", dccp}, {"udplite", udplite},
		{"gre", 47}, {"esp", 50}, {"ah", 51}, {"igmp", 2},
	}
}

// Names returns the names that Parse takes.
func Names() []string {
	var all []string
	for _, p := range protocols() {
		all = append(all, p.name)
	}
	return all
}

// Parse returns the number of a protocol: of one of Names, whatever its case, or of a number from 0 to 255.
func Parse(text string) (number uint8, ok bool) {
	i := slices.IndexFunc(protocols(), func(p protocol) bool { return p.name == strings.ToLower(text) })
	if i >= 0 {
		return protocols()[i].number, true
	}
	n, err := strconv.ParseUint(text, 10, 8)
	return uint8(n), err == nil
}

// Name returns the name of a protocol, or its number in digits where it has none among Names.
func Name(number uint8) string {
	i := slices.IndexFunc(protocols(), func(p protocol) bool { return p.number == number })
	if i >= 0 {
		return protocols()[i].name
	}
	return strconv.Itoa(int(number))
}

// HasPorts reports whether the packets of a protocol begin with a source and a destination port, which is where the kernel's
// limiter looks for them.
func HasPorts(number uint8) bool {
	return slices.Contains([]uint8{TCP, UDP, dccp, sctp, udplite}, number)
}
