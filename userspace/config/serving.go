package config

import (
	"net/netip"
	"time"
)

func defaultTimeouts() Timeouts {
	return Timeouts{
		Header: 10 * time.Second, Read: time.Minute, Write: time.Minute, Idle: 75 * time.Second, Tunnel: time.Hour, Drain: 30 * time.Second,
	}
}

func (w *whole) readTimeouts(v value) {
	m, ok := v.mapping(timeoutFields())
	if !ok {
		return
	}
	t := &w.Timeouts
	t.Header = m.duration("header", leastTime, day, t.Header)
	t.Read = m.duration("read", leastTime, day, t.Read)
	t.Write = m.duration("write", leastTime, day, t.Write)
	t.Idle = m.duration("idle", leastTime, day, t.Idle)
	t.Tunnel = m.duration("tunnel", leastTime, day, t.Tunnel)
	t.Drain = m.duration("drain", leastTime, day, t.Drain)
}

// loopback are the addresses of this machine.
func loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

func (w *whole) readAuth(v value) {
	m, ok := v.mapping(authFields())
	if !ok {
		return
	}
	a := &Auth{Gateways: loopback()}
	w.Auth = a
	if l := m.field("listen"); l.given() {
		a.Listen = w.listenersOf(l, plainListenerFields())
	}
	if g := m.field("grpc"); g.given() {
		a.GRPC = w.listenersOf(g, plainListenerFields())
	}
	if !m.has("listen") && !m.has("grpc") {
		m.lack(v, `nothing to ask at; add listen: ["127.0.0.1:8081"], or grpc for Envoy`)
	}
	if g := m.field("gateways"); g.given() {
		a.Gateways, _ = g.prefixes()
		g.checkSome(a.Gateways, "anybody could ask as if he were a gateway, and name other clients")
	}
	a.Domain = m.text("domain")
	m.field("listen").warnOfAccess(a.Listen)
	m.field("grpc").warnOfAccess(a.GRPC)
}

// warnOfAccess warns of unix sockets that gateways, which run as another user than the agent, cannot connect to, and of those
// that everybody can. A mode that is written out is meant.
func (v value) warnOfAccess(all []Listener) {
	for _, l := range all {
		switch {
		case l.Network != NetworkUnix:
		case l.Access == Access{}:
			v.warn("only the agent's own user and group may connect to %.60s, and gateways mostly run as another (workers of nginx as www-data or nginx) and let pass what they cannot ask about; "+
				"use {address: \"unix:%.60s\", group: www-data}, or mode: 0660 if the agent's group is right", l.Address, l.Address)
		case l.Access.Mode&0o002 != 0:
			v.warn("with mode %04o anybody on this machine can ask as if he were a gateway, and name other clients; use group: www-data", l.Access.Mode)
		}
	}
}

func (w *whole) readMetrics(v value) {
	m, ok := v.mapping(metricsFields())
	if !ok {
		return
	}
	l := m.field("listen")
	if !l.given() {
		m.lack(v, `no listen; add listen: "127.0.0.1:9079"`)
		return
	}
	listener, ok := w.listener(l, plainListenerFields())
	if !ok {
		return
	}
	w.Metrics = &Metrics{Listen: listener}
	if listener.all() {
		l.warn("anybody who reaches this machine can read the metrics; use 127.0.0.1, or the address that Prometheus asks")
	}
}
