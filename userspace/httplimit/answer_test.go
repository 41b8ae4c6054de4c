package httplimit

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
)

// decided answers each request with the same decision, and notes what it was asked.
type decided struct {
	decision *ruleset.Decision
	asked    ruleset.Request
}

func (d *decided) Decide(r *ruleset.Request, _ time.Duration) *ruleset.Decision {
	d.asked = *r
	return d.decision
}

// What other fronts are told by a Response is what the middleware writes.
func TestFrontsAnswerAsMiddleware(t *testing.T) {
	for _, o := range []Options{
		{}, {Headers: config.HeadersPolli}, {Headers: config.HeadersXRateLimit, OnlyRejected: true},
		{Headers: config.HeadersXRate}, {Headers: config.HeadersOff},
	} {
		for _, c := range fieldCases() {
			for _, accept := range []string{"", "text/plain", "text/html, */*;q=0.1"} {
				if c.decision.Status == 0 && !c.decision.Allowed {
					t.Fatalf("%s: no status", c.name)
				}
				status, header, body := answered(c.decision, accept, o)
				w := httptest.NewRecorder()
				r := httptest.NewRequest(http.MethodGet, "/", nil)
				r.Header.Set("Accept", accept)
				New(&decided{decision: c.decision}, o)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
				w.Header().Del("Content-Length")
				if status != w.Code || string(body) != w.Body.String() {
					t.Errorf("%s, %q: %d %q, middleware %d %q", c.name, accept, status, body, w.Code, w.Body)
				}
				if diff := cmp.Diff(w.Header(), header); diff != "" {
					t.Errorf("%s, %q (-middleware +front):\n%s", c.name, accept, diff)
				}
			}
		}
	}
}

// answered returns what a front makes of d.
func answered(d *ruleset.Decision, accept string, o Options) (int, http.Header, []byte) {
	h := http.Header{}
	if !d.Allowed {
		r := Response{Body: []byte("what"), text: []byte("was before"), n: 3}
		r.Refuse(d, accept, &o)
		r.SetIn(h)
		return d.Status, h, r.Body
	}
	setFields(h, d, o)
	return http.StatusOK, h, nil
}

// Only refusals may not be stored, and say when to come back.
func TestFieldsOfARefusal(t *testing.T) {
	h := http.Header{}
	setFields(h, refusal(2*time.Second, applied("perip", refuses(2*time.Second))), Options{Headers: config.HeadersOff})
	want := http.Header{"Cache-Control": {"no-store"}, "Retry-After": {"2"}}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Rules see who the connection is from where something told the peer.
func TestConn(t *testing.T) {
	d := &decided{decision: passes()}
	h := New(d, Options{})(http.NotFoundHandler())
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = "203.0.113.7:99"
	for _, conn := range []netip.Addr{{}, netip.MustParseAddr("192.0.2.1")} {
		if conn.IsValid() {
			r = r.WithContext(clientip.WithConn(r.Context(), conn))
		}
		h.ServeHTTP(httptest.NewRecorder(), r)
		if d.asked.Peer != netip.MustParseAddr("203.0.113.7") || d.asked.Conn != conn {
			t.Errorf("peer %v, conn %v; want 203.0.113.7, %v", d.asked.Peer, d.asked.Conn, conn)
		}
	}
}
