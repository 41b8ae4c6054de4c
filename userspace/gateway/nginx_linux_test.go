package gateway

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/test/nginxlab"
	"github.com/headgate/headgate/userspace/config"
)

// nginx is the real one with the recipe, in front of an application and beside headgate.
type nginx struct {
	t      *testing.T
	lab    *nginxlab.Server
	client *http.Client
}

const nginxServers = `
upstream headgate { server unix:%[1]s/auth.sock; keepalive 4; }
server {
	listen unix:%[1]s/gateway.sock;
	include %[2]s;
	location / { proxy_pass http://unix:%[1]s/app.sock; }
	location = /denied { deny all; }
}
`

// startNginx starts nginx with the recipe of deploy, and an application that answers with the path's status.
func startNginx(t *testing.T, auth http.Handler) *nginx {
	t.Helper()
	dir, err := os.MkdirTemp("", "gateway-") // a short path, as those of sockets have to be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	recipe, err := filepath.Abs("../../deploy/nginx/headgate.conf")
	if err != nil {
		t.Fatal(err)
	}
	if auth != nil {
		serveUnix(t, filepath.Join(dir, "auth.sock"), auth)
	}
	serveUnix(t, filepath.Join(dir, "app.sock"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/forbidden" {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = io.WriteString(w, "the application")
	}))
	lab := nginxlab.Start(t, time.Hour, fmt.Sprintf(nginxServers, dir, recipe), nil)
	dial := func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", filepath.Join(dir, "gateway.sock"))
	}
	return &nginx{t, lab, client(t, &http.Transport{DialContext: dial})}
}

func serveUnix(t *testing.T, path string, h http.Handler) {
	t.Helper()
	l, err := Listen(config.Listener{Network: "unix", Address: path}, ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	run(t, l, h, ServerOptions{})
}

// get sends a request, and then one that makes the lab read nginx's log on, which would block it.
func (n *nginx) get(path string, header ...string) got {
	n.t.Helper()
	g := do(n.t, n.client, http.MethodGet, "http://h"+path, "", header...)
	n.lab.Get("/tick")
	return g
}

// limitFields returns those that tell clients their limits.
func limitFields(h http.Header) map[string]string {
	fields := make(map[string]string)
	for _, name := range []string{"Ratelimit", "Ratelimit-Policy", "Retry-After", "Cache-Control", "Content-Type"} {
		if values := h[name]; len(values) > 0 {
			fields[name] = strings.Join(values, "|")
		}
	}
	return fields
}

// Clients of nginx get what those of the proxy get: fields with a response, and 429 with a body; and the
// application's own 403 stays one.
func TestNginxRecipe(t *testing.T) {
	// The peer is on a unix socket, so that the client is who it says.
	set := rules(t, 2, byForwardedFor("10.0.0.0/8"), func(h *config.HTTP) { h.ClientIP.TrustUnix = true })
	n := startNginx(t, NewAuth(set, AuthOptions{Limit: stillOptions(), Log: quiet()}))
	as := []string{forwardedFor, "203.0.113.7", nginxPeer, "198.51.100.1"}
	policy := `"perip";q=3;w=10800`
	for _, tt := range []struct {
		path   string
		status int
		body   string
		fields map[string]string
	}{
		{"/", 200, "the application", map[string]string{"Ratelimit": `"perip";r=2;t=3600`, "Ratelimit-Policy": policy, "Content-Type": "text/plain; charset=utf-8"}},
		{"/forbidden", 403, "the application", map[string]string{"Ratelimit": `"perip";r=1;t=3600`, "Ratelimit-Policy": policy, "Content-Type": "text/plain; charset=utf-8"}},
		{"/?a=b", 200, "the application", map[string]string{"Ratelimit": `"perip";r=0;t=3600`, "Ratelimit-Policy": policy, "Content-Type": "text/plain; charset=utf-8"}},
		{"/forbidden", 429, "", map[string]string{"Ratelimit": `"perip";r=0;t=3600`, "Ratelimit-Policy": policy,
			"Retry-After": "3600", "Cache-Control": "no-store", "Content-Type": "application/problem+json"}},
	} {
		g := n.get(tt.path, as...)
		if g.status != tt.status || tt.body != "" && g.body != tt.body {
			t.Errorf("%s: status %d, %q; want %d, %q", tt.path, g.status, g.body, tt.status, tt.body)
		}
		if d := cmp.Diff(tt.fields, limitFields(g.header)); d != "" {
			t.Errorf("%s: %s", tt.path, d)
		}
		if g.status == 429 && (!strings.HasPrefix(g.body, `{"type":"https://iana.org/`) || !strings.HasSuffix(g.body, "}\n")) {
			t.Errorf("body %q", g.body)
		}
		if g.header.Get(nginxStatus) != "" {
			t.Error("the client sees how nginx is told")
		}
	}
	if g := n.get("/denied", forwardedFor, "203.0.113.8"); g.status != 403 || !strings.Contains(g.body, "403 Forbidden") {
		t.Errorf("nginx's own 403: %d, %q", g.status, g.body)
	}
	if c := set.Counters(); c.Rules[0].Allowed != 3 || c.Rules[0].Refused != 1 {
		t.Errorf("each request is charged once: %+v", c.Rules[0])
	}
}

// Requests pass if headgate is not there.
func TestNginxWithoutHeadgate(t *testing.T) {
	n := startNginx(t, nil)
	if g := n.get("/"); g.status != 200 || g.body != "the application" {
		t.Errorf("%+v", g)
	}
}
