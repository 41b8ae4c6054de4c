package conformance_test

import (
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"testing"

	"github.com/headgate/headgate/test/conformance"
	"github.com/headgate/headgate/userspace/gateway"
)

func newAuth(r conformance.Rules) http.Handler {
	return gateway.NewAuth(r.Set, gateway.AuthOptions{Limit: r.Options, Gateways: []netip.Prefix{netip.PrefixFrom(gatewayAddress(), 32)}})
}

func gatewayAddress() netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, 1}) }

// peerText returns how nginx writes a peer.
func peerText(a netip.Addr) string {
	if !a.IsValid() {
		return "unix:"
	}
	return a.String()
}

// authRequest is auth_request of an nginx with the recipe: that passes on status, body and fields.
type authRequest struct{ conformance.Handler }

func openAuthRequest(_ *testing.T, r conformance.Rules) conformance.Front {
	return authRequest{conformance.Handler{Label: "auth_request", Handler: newAuth(r), Ask: askNginx}}
}

// asked returns the request of a gateway that tells of its client's in h.
func asked(t *testing.T, path string, h http.Header) *http.Request {
	t.Helper()
	return conformance.Direct(t, conformance.Step{Peer: gatewayAddress(), Method: http.MethodGet, Host: "headgate", Target: path, Header: h})
}

// askNginx tells of a request as the recipe's nginx does.
func askNginx(t *testing.T, s conformance.Step) *http.Request {
	t.Helper()
	h := http.Header{}
	maps.Copy(h, s.Header)
	h.Set("X-Headgate-Peer", peerText(s.Peer))
	h.Set("X-Headgate-Method", s.Method)
	h.Set("X-Headgate-Uri", s.Target)
	h.Set("X-Headgate-Host", s.Host)
	return asked(t, gateway.NginxPath, h)
}

// Do answers as nginx makes of it.
func (f authRequest) Do(t *testing.T, s conformance.Step) conformance.Answer {
	t.Helper()
	w := f.Record(t, s)
	a := conformance.Answer{Status: w.Code, Header: conformance.Told(w.Header())}
	if w.Code == http.StatusForbidden {
		status, err := strconv.Atoi(w.Header().Get("X-Headgate-Status"))
		if err != nil {
			t.Error(err)
		}
		a.Status, a.Body = status, w.Header().Get("X-Headgate-Body")+"\n"
		a.Header.Set("Content-Type", problemJSON)
	}
	return a
}

// Expect implements conformance.Partial.
func (authRequest) Expect(_ conformance.Step, a conformance.Answer) conformance.Answer {
	a = asNginxSays(a)
	delete(a.Header, "X-Content-Type-Options") // the recipe's affair
	return a
}

const problemJSON = "application/problem+json"

// asNginxSays returns a right answer as nginx makes it: refusals are JSON, whatever the client accepts.
func asNginxSays(a conformance.Answer) conformance.Answer {
	a.Header = maps.Clone(a.Header)
	if has := a.Header["Content-Type"]; has != nil && !slices.Equal(has, []string{problemJSON}) {
		a.Header.Set("Content-Type", problemJSON)
		a.Body = ""
	}
	return a
}

func openForward(_ *testing.T, r conformance.Rules) conformance.Front {
	return conformance.Handler{Label: "forward-auth", Handler: newAuth(r), Ask: askForward}
}

// askForward tells of a request as Traefik and Caddy do where they keep the X-Forwarded-For that they get.
func askForward(t *testing.T, s conformance.Step) *http.Request {
	t.Helper()
	h := forwarded(s)
	h.Set("X-Forwarded-Method", s.Method)
	h.Set("X-Forwarded-Uri", s.Target)
	h.Set("X-Forwarded-Host", s.Host)
	return asked(t, gateway.ForwardPath, h)
}

// forwarded returns the client's fields as a proxy passes them on: its peer is the last of X-Forwarded-For.
func forwarded(s conformance.Step) http.Header {
	h := http.Header{}
	maps.Copy(h, s.Header)
	h["X-Forwarded-For"] = append(slices.Clone(h["X-Forwarded-For"]), peerText(s.Peer))
	return h
}
