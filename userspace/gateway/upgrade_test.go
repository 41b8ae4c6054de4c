package gateway

import (
	"net/http"
	"strings"
	"testing"
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
