package caddy_test

import (
	"net/http"
	"testing"

	"github.com/headgate/headgate/test/conformance"
	"github.com/headgate/headgate/userspace/config"
)

// TestCaddy: what clients of Caddy get with the recipe is what those of the middleware get.
func TestCaddy(t *testing.T) { conformance.Run(t, open) }

// front is Caddy with the recipe.
type front struct{ conformance.Site }

func open(t *testing.T, r conformance.Rules) conformance.Front {
	text := recipe(t)
	if fields := fieldsOf(r.HTTP.Headers); fields != "" {
		text = edit(t, text, "RateLimit-Policy RateLimit\n", fields+"\n")
	}
	s := start(t, text, trusting(r.HTTP.ClientIP.TrustedProxies))
	s.ServeRules(t, r)
	return front{s}
}

// fieldsOf returns the header fields of a style, empty for those that the recipe has.
func fieldsOf(style config.HeaderStyle) string {
	switch style {
	case config.HeadersPolli:
		return "RateLimit-Limit RateLimit-Remaining RateLimit-Reset"
	case config.HeadersXRateLimit:
		return "X-RateLimit-Limit X-RateLimit-Remaining X-RateLimit-Reset"
	case config.HeadersXRate:
		return "X-Rate-Limit-Limit X-Rate-Limit-Remaining X-Rate-Limit-Reset"
	}
	return ""
}

// Name implements conformance.Front.
func (front) Name() string { return "caddy" }

// Do implements conformance.Front.
func (f front) Do(t *testing.T, s conformance.Step) conformance.Answer {
	t.Helper()
	return f.Send(t, s)
}

// Expect implements conformance.Partial: Caddy cannot tell of a peer on a unix socket, so that headgate asks for it.
func (front) Expect(s conformance.Step, a conformance.Answer) conformance.Answer {
	if s.Peer.IsValid() {
		return a
	}
	return conformance.Answer{Status: http.StatusInternalServerError, Header: http.Header{
		"Content-Type": {"text/plain; charset=utf-8"}, "X-Content-Type-Options": {"nosniff"},
	}}
}
