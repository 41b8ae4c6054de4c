package gateway

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// A tunnel in which requests can come would get around all limits.
func TestNoUpgradeToHTTP(t *testing.T) {
	var got http.Header
	server := backend(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header })
	at := serveProxy(t, newTestProxy(t, upstream(server), ProxyOptions{}))
	tests := map[string]string{
		"websocket": "websocket", "echo": "echo", "soap/http": "soap/http",
		"h2c": "", "H2C": "", "h2": "", "HTTP/2.0": "", "TLS/1.2, HTTP/1.1": "", "websocket, h2c": "", "websocket,  H2c": "",
	}
	for protocol, want := range tests {
		got = nil
		g := do(t, client(t, &http.Transport{}), http.MethodGet, at+"/", "", "Connection", "Upgrade, HTTP2-Settings, Own", "Upgrade", protocol,
			"HTTP2-Settings", "AAMAAABkAAQAAP__", "Own", "x")
		if g.status != http.StatusOK || got == nil {
			t.Fatalf("%q: status %d: %s", protocol, g.status, g.body)
		}
		if up, settings := got.Get("Upgrade"), got.Get("HTTP2-Settings"); up != want || settings != "" {
			t.Errorf("%q: the server is asked for %q with %q, want %q", protocol, up, settings, want)
		}
		if c := got.Get("Connection"); strings.EqualFold(c, "upgrade") != (want != "") {
			t.Errorf("%q: Connection %q", protocol, c)
		}
	}
	// A server takes the settings where Connection does not name them, too, and the wish may be in several fields.
	g := do(t, client(t, &http.Transport{}), http.MethodGet, at+"/", "", "Connection", "Upgrade", "Upgrade", "h2c", "HTTP2-Settings", "AAMAAABkAAQAAP__")
	if g.status != http.StatusOK || got.Get("Upgrade")+got.Get("HTTP2-Settings") != "" {
		t.Errorf("status %d, the server is asked for %q with %q", g.status, got.Get("Upgrade"), got.Get("HTTP2-Settings"))
	}
}

// What a client sends that cannot be passed on is no failure of the server: it would change the limits of others.
func TestUnsendableIsNoFailure(t *testing.T) {
	server := backend(t, func(http.ResponseWriter, *http.Request) {})
	tests := map[string]func(*http.Request){
		"method":        func(r *http.Request) { r.Method = "G T" }, // HTTP/2 takes any
		"trailer":       func(r *http.Request) { r.Trailer = http.Header{"A b": nil} },
		"empty trailer": func(r *http.Request) { r.Trailer = http.Header{"": nil} },
	}
	for name, spoil := range tests {
		var seen []int
		p := newTestProxy(t, upstream(server), ProxyOptions{Observe: func(status int, _ time.Duration) { seen = append(seen, status) }})
		r := sent(http.MethodPost, "body")
		spoil(r)
		if g := answer(p, r); g.status != http.StatusBadRequest || len(seen) != 0 {
			t.Errorf("%s: status %d, observed %v", name, g.status, seen)
		}
	}
}
