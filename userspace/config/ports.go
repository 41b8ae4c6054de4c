package config

import (
	"net"
	"net/netip"
)

// ports are the addresses that the file listens on, to find those that two would have to share.
type ports struct {
	first map[string]int   // line of an address
	any   map[familyOf]int // line of the first listener on a port
	all   map[familyOf]int // and of the one on all addresses of the family
}

// familyOf is a port in a family of addresses.
type familyOf struct {
	port string
	ipv6 bool
}

func newPorts() ports {
	return ports{make(map[string]int), make(map[familyOf]int), make(map[familyOf]int)}
}

// take takes the address of l for it. It adds an error at v and reports false if it is taken already.
func (p ports) take(v value, l Listener) bool {
	text := l.Network + " " + l.Address
	if line, twice := p.first[text]; twice {
		v.fail("line %d listens on it already; remove one", line)
		return false
	}
	host, port, err := net.SplitHostPort(l.Address)
	if l.Network != NetworkTCP || err != nil {
		p.first[text] = l.Line
		return true
	}
	if port == "0" { // as many as there are
		return true
	}
	p.first[text] = l.Line
	return p.takePort(v, l, host, port)
}

func (p ports) takePort(v value, l Listener, host, port string) bool {
	for _, f := range families(host, port) {
		if line, taken := p.all[f]; taken {
			v.fail("line %d listens on port %s of all addresses already; remove one", line, port)
			return false
		}
		if line, taken := p.any[f]; taken && l.all() {
			v.fail("line %d has port %s of one address already; remove one", line, port)
			return false
		}
	}
	for _, f := range families(host, port) {
		if l.all() {
			p.all[f] = l.Line
		}
		p.any[f] = l.Line
	}
	return true
}

// families returns the families in which a host's port is listened on.
func families(host, port string) []familyOf {
	a, err := netip.ParseAddr(host)
	if err != nil {
		return []familyOf{{port, false}, {port, true}}
	}
	return []familyOf{{port, a.Is6()}}
}
