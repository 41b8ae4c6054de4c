package caddy_test

import (
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/headgate/headgate/test/conformance"
)

// says answers with a status and what it is.
func says(status int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// wantAnswer checks the status and the body of a request.
func wantAnswer(t *testing.T, s conformance.Site, status int, body string) {
	t.Helper()
	a := s.Send(t, conformance.Step{Peer: netip.MustParseAddr("192.0.2.7")})
	if a.Status != status || a.Body != body {
		t.Errorf("status %d, %q; want %d, %q", a.Status, a.Body, status, body)
	}
}

// Caddy has nothing to say about the recipe, not even about its spaces.
func TestRecipeIsWithoutWarning(t *testing.T) {
	if _, warnings := adapt(t, recipe(t)); len(warnings) > 0 {
		t.Errorf("%v", warnings)
	}
}

// Requests pass if headgate is not there. What it cannot make sense of is an error.
func TestWithoutHeadgate(t *testing.T) {
	s := start(t, recipe(t), "")
	s.Serve(t, s.App(), says(http.StatusOK, "the application"))
	wantAnswer(t, s, http.StatusOK, "the application")
	s.Serve(t, s.Auth(), says(http.StatusInternalServerError, "headgate"))
	wantAnswer(t, s, http.StatusInternalServerError, "headgate")
}

// The recipe says which lines to remove so that requests do not pass without headgate.
func TestClosedWithoutHeadgate(t *testing.T) {
	whole := recipe(t)
	before, _, found := strings.Cut(whole, "\n\t# If headgate does not answer")
	if !found {
		t.Fatal("the recipe does not say what is if headgate does not answer")
	}
	s := start(t, before+"}\n", "")
	s.Serve(t, s.App(), says(http.StatusOK, "the application"))
	wantAnswer(t, s, http.StatusBadGateway, "")
}

// A request that passed and that the application did not answer is not sent again.
func TestApplicationFails(t *testing.T) {
	s := start(t, recipe(t), "")
	s.Serve(t, s.Auth(), says(http.StatusOK, ""))
	var requests atomic.Int64
	s.Serve(t, s.App(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		requests.Add(1)
		panic(http.ErrAbortHandler)
	}))
	wantAnswer(t, s, http.StatusBadGateway, "")
	if n := requests.Load(); n != 1 {
		t.Errorf("the application got %d requests", n)
	}
}

// The application's refusals stay as they are.
func TestOtherRefusals(t *testing.T) {
	s := start(t, recipe(t), "")
	s.Serve(t, s.Auth(), says(http.StatusOK, ""))
	for _, status := range []int{http.StatusForbidden, http.StatusTooManyRequests} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			s.Serve(t, s.App(), says(status, "the application"))
			wantAnswer(t, s, status, "the application")
		})
	}
}

// The body of a request is the application's, whether headgate is there or not.
func TestBodyIsKept(t *testing.T) {
	s := start(t, recipe(t), "")
	s.Serve(t, s.App(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	post := conformance.Step{Peer: netip.MustParseAddr("192.0.2.7"), Method: http.MethodPost, Body: "a=b"}
	if a := s.Send(t, post); a.Body != post.Body {
		t.Errorf("without headgate: %+v", a)
	}
	s.Serve(t, s.Auth(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err != nil || len(body) > 0 {
			t.Errorf("headgate is sent %q, %v", body, err)
		}
	}))
	if a := s.Send(t, post); a.Body != post.Body {
		t.Errorf("with headgate: %+v", a)
	}
}

// With trusted_proxies_unix, as the recipe says, a proxy in front on a unix socket tells who clients are.
func TestProxyOnUnixSocket(t *testing.T) {
	s := gate(t, "trusted_proxies static 10.0.0.0/8\n\t\ttrusted_proxies_unix")
	for _, tt := range []struct {
		forwardedFor string
		status       int
	}{
		{"203.0.113.1", http.StatusOK},
		{"203.0.113.2, 203.0.113.1", http.StatusTooManyRequests},
		{"203.0.113.2", http.StatusOK},
	} {
		a := s.Send(t, conformance.Step{Header: http.Header{"X-Forwarded-For": {tt.forwardedFor}}})
		if a.Status != tt.status {
			t.Errorf("for %q: status %d, want %d", tt.forwardedFor, a.Status, tt.status)
		}
	}
}
