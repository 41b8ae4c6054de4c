package conformance_test

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/headgate/headgate/test/conformance"
)

// says answers with a status and what it is.
func says(status int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "the application")
	})
}

// wantAnswer checks the status of a request for a path, and that the body has a text.
func (n nginx) wantAnswer(t *testing.T, path string, status int, body string) conformance.Answer {
	t.Helper()
	a := n.Send(t, conformance.Step{Peer: netip.MustParseAddr("192.0.2.7"), Target: path})
	if a.Status != status || !strings.Contains(a.Body, body) {
		t.Errorf("%s: status %d, %q; want %d, %q", path, a.Status, a.Body, status, body)
	}
	return a
}

// A 403 that is not headgate's stays one: that of the application, which has our fields, and that of nginx.
func TestNginxOtherRefusals(t *testing.T) {
	n := startNginx(t, nginxRecipe(t))
	n.Serve(t, n.Auth(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("RateLimit", `"perip";r=1;t=1`) }))
	n.Serve(t, n.App(), says(http.StatusForbidden))
	if a := n.wantAnswer(t, "/", http.StatusForbidden, "the application"); a.Header.Get("Ratelimit") != `"perip";r=1;t=1` {
		t.Errorf("fields %v", a.Header)
	}
	n.wantAnswer(t, "/denied", http.StatusForbidden, "403 Forbidden")
}

// Requests pass if headgate is not there, and what it cannot make sense of is an error.
func TestNginxWithoutHeadgate(t *testing.T) {
	n := startNginx(t, nginxRecipe(t))
	n.Serve(t, n.App(), says(http.StatusOK))
	n.wantAnswer(t, "/", http.StatusOK, "the application")
	n.Serve(t, n.Auth(), says(http.StatusInternalServerError))
	n.wantAnswer(t, "/", http.StatusInternalServerError, "500 Internal Server Error")
}

// The recipe says what to remove so that requests do not pass without headgate.
func TestNginxClosedWithoutHeadgate(t *testing.T) {
	recipe := nginxRecipe(t)
	for _, line := range []string{"error_page 502 504 = @headgate_down;", "proxy_intercept_errors off;"} {
		if !strings.Contains(recipe, line) {
			t.Fatalf("the recipe has no %q", line)
		}
		recipe = strings.Replace(recipe, line, "", 1)
	}
	n := startNginx(t, recipe)
	n.Serve(t, n.App(), says(http.StatusOK))
	n.wantAnswer(t, "/", http.StatusInternalServerError, "500 Internal Server Error")
}

// A status that the recipe does not know is nginx's 403, and never a request that passes.
func TestNginxUnknownStatus(t *testing.T) {
	n := startNginx(t, nginxRecipe(t))
	n.Serve(t, n.App(), says(http.StatusOK))
	n.Serve(t, n.Auth(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Headgate-Status", fmt.Sprint(http.StatusTeapot))
		w.WriteHeader(http.StatusForbidden)
	}))
	n.wantAnswer(t, "/", http.StatusForbidden, "403 Forbidden")
}
