package gateway

import (
	"net/http"
	"net/http/httputil"
	"net/netip"
	"strings"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/gateway/internal/peers"
)

// The fields that tell a server what its proxies know.
const (
	forwardedFor   = "X-Forwarded-For"
	forwardedHost  = "X-Forwarded-Host"
	forwardedProto = "X-Forwarded-Proto"
	realIP         = "X-Real-Ip"
)

// forward sets the X-Forwarded fields. ReverseProxy has removed those that came, and Forwarded.
func (p *Proxy) forward(r *httputil.ProxyRequest) {
	peer := clientip.Peer(r.In.RemoteAddr)
	out := r.Out.Header
	removeTwins(out)
	if p.trusts(peer) {
		for _, name := range []string{forwardedFor, forwardedHost, forwardedProto} {
			if values := r.In.Header[name]; len(values) > 0 {
				out[name] = []string{strings.Join(values, ", ")}
			}
		}
	} else {
		delete(out, realIP)
	}
	if peer.IsValid() {
		appendValue(out, forwardedFor, peer.WithZone("").String())
	}
	setDefault(out, forwardedHost, r.In.Host)
	setDefault(out, forwardedProto, scheme(r.In))
}

// removeTwins removes fields that CGI, and all that names fields as it does, cannot tell from those that are set here:
// for X_Forwarded_For as for X-Forwarded-For it has HTTP_X_FORWARDED_FOR, and so has PHP for X.Forwarded.For. No
// proxy writes them so.
func removeTwins(h http.Header) {
	for name := range h {
		if strings.IndexByte(name, '_') < 0 && strings.IndexByte(name, '.') < 0 {
			continue
		}
		switch http.CanonicalHeaderKey(strings.NewReplacer("_", "-", ".", "-").Replace(name)) {
		case forwardedFor, forwardedHost, forwardedProto, realIP:
			delete(h, name)
		}
	}
}

// trusts reports whether what peer says of others is believed.
func (p *Proxy) trusts(peer netip.Addr) bool {
	if !peer.IsValid() {
		return p.o.TrustUnix
	}
	return peers.Among(p.o.TrustedProxies, peer.WithZone(""))
}

func scheme(r *http.Request) string {
	if r.TLS == nil {
		return "http"
	}
	return "https"
}

// appendValue adds value to the list that the field has. name is canonical.
func appendValue(h http.Header, name, value string) {
	if before := h[name]; len(before) > 0 {
		value = before[0] + ", " + value
	}
	h[name] = []string{value}
}

func setDefault(h http.Header, name, value string) {
	if len(h[name]) == 0 {
		h[name] = []string{value}
	}
}
