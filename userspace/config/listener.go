package config

import (
	"net"
	"net/netip"
	"slices"
)

func (w *whole) readListen(v value) {
	w.Listen = w.listenersOf(v, listenerFields())
}

// listenersOf returns listeners: a list of them, or one.
func (w *whole) listenersOf(v value, fields []Field) []Listener {
	elements, _ := v.oneOrMore(listenForm)
	var all []Listener
	for _, e := range elements {
		if l, ok := w.listener(e, fields); ok {
			all = append(all, l)
		}
	}
	return all
}

// plainListenerFields are those of a listener whose peers are told by nobody else.
func plainListenerFields() []Field {
	return slices.DeleteFunc(listenerFields(), func(f Field) bool { return f.Path == "proxy_protocol" })
}

// listener returns a listener whose address no other has.
func (w *whole) listener(v value, fields []Field) (Listener, bool) {
	l := Listener{Line: v.node.Line}
	at := v
	var m mapping
	if v.isMapping() {
		var ok bool
		if m, ok = v.mappingOr(fields, unknownOfListener(fields)); !ok {
			return l, false
		}
		if at = m.field("address"); !at.given() {
			m.lack(v, `no address; add address: "0.0.0.0:8443"`)
		}
		l.TLS, l.ProxyProtocol = m.tls(), m.proxyProtocol()
		l.Access = Access{Mode: m.socketMode(0), Group: m.group()}
	}
	if at.given() {
		l.Network, l.Address = at.address()
	}
	if len(l.ProxyProtocol) > 0 && l.Network == NetworkUnix {
		v.fail("peers on a unix socket have no address to know them by; remove proxy_protocol")
	}
	m.checkAccess(l.Network)
	m.warnOfGroup(l.Access)
	return l, l.Address != "" && w.taken.take(at, l)
}

func unknownOfListener(fields []Field) func(string) string {
	return func(name string) string {
		if name == "proxy_protocol" {
			return "only listeners under listen take a PROXY protocol header; remove proxy_protocol"
		}
		return "unknown field " + choices(name, names(fields))
	}
}

// tls returns the files of a certificate, nil for no TLS.
func (m mapping) tls() *TLS {
	v := m.field("tls")
	if !v.given() {
		return nil
	}
	t, ok := v.mapping(tlsFields())
	if !ok {
		return nil
	}
	for _, name := range []string{"certificate", "key"} {
		if !t.has(name) {
			t.lack(t.value, "no "+name+"; TLS needs certificate: FILE and key: FILE")
		}
	}
	return &TLS{Certificate: t.filePath("certificate"), Key: t.filePath("key")}
}

func (m mapping) proxyProtocol() []netip.Prefix {
	v := m.field("proxy_protocol")
	if !v.given() {
		return nil
	}
	list, ok := v.prefixes()
	switch {
	case !ok:
	case len(list) == 0:
		v.fail("empty; use %s, or remove it", v.form)
	default:
		v.checkSome(list, "anybody could say that he is whoever he likes")
	}
	return list
}

// checkSome adds an error for a prefix of all addresses. so is what would follow.
func (v value) checkSome(list []netip.Prefix, so string) {
	for _, p := range list {
		if p.Bits() == 0 {
			v.fail("%s is every address, so %s; list those that are meant", p, so)
		}
	}
}

// all reports whether l is listened on by more than one address.
func (l Listener) all() bool {
	host, _, err := net.SplitHostPort(l.Address)
	if l.Network != NetworkTCP || err != nil {
		return false
	}
	a, err := netip.ParseAddr(host)
	return err != nil || a.IsUnspecified()
}

// loopback reports whether only this machine reaches l.
func (l Listener) loopback() bool {
	switch l.Network {
	case NetworkUnix:
		return true
	case NetworkTCP:
		a, err := netip.ParseAddrPort(l.Address)
		return err == nil && a.Addr().IsLoopback()
	default:
		return false
	}
}
