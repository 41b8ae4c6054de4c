package caddy_test

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/headgate/headgate/test/conformance"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/httplimit"
	"github.com/headgate/headgate/userspace/ruleset"
)

// believing are limits of one request an hour for each client, who is whom X-Forwarded-For of a proxy in 10.0.0.0/8 names.
const believing = `http:
  client_ip: {header: X-Forwarded-For, trusted_proxies: [10.0.0.0/8]}
  zones: {perip: {key: ip, rate: 1r/h}}
  rules: [{limits: [{zone: perip}]}]
`

// gate is Caddy and a headgate that is believing, with server options of Caddy.
func gate(t *testing.T, servers string) conformance.Site {
	t.Helper()
	f, err := config.Parse("headgate.yaml", []byte(believing))
	if err != nil {
		t.Fatal(err)
	}
	set, err := ruleset.New(f.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, recipe(t), servers)
	s.ServeRules(t, conformance.Rules{Set: set, HTTP: f.HTTP, Options: httplimit.Options{Headers: f.HTTP.Headers}})
	return s
}

// request is one from peer that says that it is forwarded for somebody.
type request struct {
	peer, forwardedFor string
	status             int
}

func (r request) check(t *testing.T, s conformance.Site) {
	t.Helper()
	step := conformance.Step{Peer: netip.MustParseAddr(r.peer), Header: http.Header{"X-Forwarded-For": {r.forwardedFor}}}
	if a := s.Send(t, step); a.Status != r.status {
		t.Errorf("%s for %q: status %d, want %d", r.peer, r.forwardedFor, a.Status, r.status)
	}
}

// A client that forges X-Forwarded-For neither escapes its limit nor uses up another's.
func TestForgedForwardedFor(t *testing.T) {
	forging := []request{
		{"192.0.2.7", "203.0.113.1", 200},
		{"192.0.2.7", "203.0.113.2", 429},
		{"192.0.2.7", "203.0.113.3, 10.0.0.1", 429},
		{"192.0.2.7", "10.0.0.1", 429},
		{"203.0.113.1", "", 200},
	}
	for name, tt := range map[string]struct {
		servers string
		more    []request
	}{
		"Caddy trusts nobody": {"", []request{
			{"10.0.0.1", "203.0.113.1", 200}, // the proxy itself is charged,
			{"10.0.0.1", "203.0.113.9", 429}, // whomever it names
		}},
		"Caddy trusts the proxies": {"trusted_proxies static 10.0.0.0/8", []request{
			{"10.0.0.1", "203.0.113.1", 429},
			{"10.0.0.1", "203.0.113.9", 200},
			{"10.0.0.2", "203.0.113.8, 203.0.113.9", 429}, // forged by the proxy's client
			{"203.0.113.8", "", 200},
		}},
		// What Caddy lets through headgate does not have to believe.
		"Caddy trusts everybody": {"trusted_proxies static 0.0.0.0/0 ::/0", []request{{"10.0.0.1", "203.0.113.9", 200}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := gate(t, tt.servers)
			for _, r := range append(forging, tt.more...) {
				r.check(t, s)
			}
		})
	}
}
