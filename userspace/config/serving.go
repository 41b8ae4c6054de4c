package config

import (
	"net/netip"
	"time"
)

func defaultTimeouts() Timeouts {
	return Timeouts{
		Header: 10 * time.Second, Read: time.Minute, Write: time.Minute, Idle: 75 * time.Second, Drain: 30 * time.Second,
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
}

func (w *whole) readMetrics(v value) {
	m, ok := v.mapping(metricsFields())
	if !ok {
		return
	}
	l := m.field("listen")
	if !l.given() {
		m.lack(v, `no listen; add listen: "127.0.0.1:9090"`)
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
