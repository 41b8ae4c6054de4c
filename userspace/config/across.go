package config

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// checkSections looks for sections that contradict each other.
func (w *whole) checkSections() {
	if w.says("listen") && !w.says("upstream") {
		w.root.lack(w.root.field("listen"), `no server to send requests to; add upstream: ["http://127.0.0.1:9000"]`)
	}
	if w.says("upstream") && !w.says("listen") {
		w.root.lack(w.root.field("upstream"), `nothing to take requests at; add listen: ["0.0.0.0:8080"], or remove upstream`)
	}
	if w.says("handdown") && !w.says("kernel") {
		w.root.lack(w.root.field("handdown"), "the kernel's limiter is not in use, and nobody else can drop packets; add kernel: {interfaces: [eth0]}, or remove handdown")
	}
	if w.says("adaptive") && !w.says("listen") {
		w.root.lack(w.root.field("adaptive"), "no request goes through the agent, so there is nothing to measure; add listen and upstream, or remove adaptive")
	}
	w.checkFleet()
	if !w.right() {
		return
	}
	w.checkLoop()
	w.checkHandDown()
	w.checkVerified()
	w.checkAuth()
	w.checkClusters()
	w.checkFleetRules()
}

// checkLoop adds an error if the proxy would send requests to itself.
func (w *whole) checkLoop() {
	if w.Upstream == nil {
		return
	}
	for _, u := range w.Upstream.Servers {
		for _, l := range w.Listen {
			if l.serves(u) {
				w.root.field("upstream").fail("%s is where line %d listens: requests would go round; use another port", u, l.Line)
			}
		}
	}
}

// serves reports whether what is sent to u arrives at l, as far as the file tells.
func (l Listener) serves(u *url.URL) bool {
	host, port, err := net.SplitHostPort(l.Address)
	if l.Network != NetworkTCP || err != nil || port != portOf(u) {
		return false
	}
	for _, a := range addressesOf(u.Hostname()) {
		onAll := l.all() && slices.Contains(families(host, port), familyOf{port, a.Is6()})
		if host == a.String() || a.IsLoopback() && onAll {
			return true
		}
	}
	return false
}

// addressesOf returns the addresses of a host that are known without asking. Linux connects to the loopback address
// for the one of all.
func addressesOf(host string) []netip.Addr {
	local4, local6 := netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()
	if host == "localhost" {
		return []netip.Addr{local4, local6}
	}
	a, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return nil
	case a == netip.IPv4Unspecified():
		return []netip.Addr{local4}
	case a == netip.IPv6Unspecified():
		return []netip.Addr{local6}
	default:
		return []netip.Addr{a.Unmap()}
	}
}

// portOf returns the port of a URL of http or https.
func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}

// checkHandDown looks for clients whose packets do not come from them, and for offenders that walk around their rule.
func (w *whole) checkHandDown() {
	h := w.HandDown
	if h == nil {
		return
	}
	at := w.root.field("handdown")
	if n := w.Kernel.MaxRules; n != 0 && h.MaxRules > int(n) {
		at.warn("max_rules of %d is more than the %d that the kernel has room for; use less, or a larger kernel.max_rules", h.MaxRules, n)
	}
	if c := w.HTTP.ClientIP; h.IPv6Prefix > c.IPv6Prefix || h.IPv4Prefix > c.IPv4Prefix {
		at.warn("a client of http is a /%d or /%d, and a rule is for a /%d or /%d: who is dropped goes on from another address; use the same prefixes",
			c.IPv4Prefix, c.IPv6Prefix, h.IPv4Prefix, h.IPv6Prefix)
	}
	if !w.says("listen") && !w.says("auth") && !w.says("admin") && len(h.NginxLogs) == 0 {
		at.warn("nothing tells of offences; add listen, auth or admin, or nginx_logs")
	}
	w.warnOfRemote(w.HTTP.ClientIP.TrustedProxies, "http.client_ip.trusted_proxies")
	w.warnOfRemote(w.proxyProtocols(), "proxy_protocol")
	if w.Auth != nil {
		w.warnOfRemote(w.Auth.Gateways, "auth.gateways")
	}
}

// checkVerified warns of policies for unverified sources where no request makes one verified.
func (w *whole) checkVerified() {
	if w.Kernel == nil {
		return
	}
	var remedies []string
	if !w.says("listen") && !w.says("auth") {
		remedies = append(remedies, "add listen or auth")
	}
	if w.Kernel.VerifiedFor == 0 {
		remedies = append(remedies, "leave out verified_for: 0s")
	}
	if len(remedies) == 0 {
		return
	}
	for _, p := range w.Kernel.Policies {
		if p.Unverified {
			w.root.field("kernel").warn("policy %s is for all sources but those with a limit in rules, as no request makes one verified; %s", p.Name, strings.Join(remedies, ", and "))
			return
		}
	}
}

// proxyProtocols returns the peers that tell of clients to any listener, each once.
func (w *whole) proxyProtocols() (all []netip.Prefix) {
	for _, l := range w.Listen {
		for _, p := range l.ProxyProtocol {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// warnOfRemote warns of peers that tell of clients and are not this machine: the packets are theirs.
func (w *whole) warnOfRemote(peers []netip.Prefix, field string) {
	remote := slices.DeleteFunc(slices.Clone(peers), func(p netip.Prefix) bool { return p.Addr().IsLoopback() })
	if len(remote) == 0 {
		return
	}
	const shown = 3
	var some []string
	for _, p := range remote[:min(len(remote), shown)] {
		some = append(some, p.String())
	}
	if len(remote) > shown {
		some = append(some, "...")
	}
	w.root.field("handdown").warn("clients behind %s (%s) are not dropped, as their packets come from there; only those on this machine hand their clients on",
		strings.Join(some, ", "), field)
}

// checkAuth warns of zones that cannot do behind a gateway what they do in the proxy.
func (w *whole) checkAuth() {
	if w.Auth == nil {
		return
	}
	for _, r := range w.HTTP.Rules {
		for _, u := range r.Limits {
			if z := w.HTTP.Zones[u.Zone]; z.Algorithm == Concurrent {
				w.root.field("auth").warn("gateways do not tell when a response has ended: zone %s counts their requests only while they ask", z.Name)
				return
			}
		}
	}
}
