package httplimit

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/ruleset"
)

// rejected returns what is answered.
func rejected(method, accept string, d *ruleset.Decision) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, "/", nil)
	r.Header.Set("Accept", accept)
	reject(w, r, d)
	return w
}

// reject answers by middleware that refuses.
func reject(w http.ResponseWriter, r *http.Request, d *ruleset.Decision) {
	New(&decided{decision: d}, Options{Headers: config.HeadersOff})(http.NotFoundHandler()).ServeHTTP(w, r)
}

func TestProblem(t *testing.T) {
	const types = "https://iana.org/assignments/http-problem-types#"
	exceeded := "Request cannot be satisfied as assigned quota has been exceeded"
	reduced := "Request cannot be satisfied due to temporary server capacity constraints"
	both := []ruleset.Applied{
		applied("daily"), applied("try", dryRun, refuses(1)),
		applied("perip", refuses(1)), applied("perip", refuses(1)), applied("", refuses(1)),
	}
	for _, c := range []struct {
		name   string
		status int
		retry  time.Duration
		want   object
	}{
		{"429", 429, 3 * time.Second, object{types + "quota-exceeded", exceeded, 429,
			`Limit "perip" is used up. Try again in 3 seconds.`, []string{"perip", "default"}}},
		{"one second", 429, 1, object{types + "quota-exceeded", exceeded, 429,
			`Limit "perip" is used up. Try again in 1 second.`, []string{"perip", "default"}}},
		{"never", 403, limit.Never, object{types + "quota-exceeded", exceeded, 403,
			`The request is larger than limit "perip" allows at once. Trying again does not help.`, []string{"perip", "default"}}},
		{"503", 503, 3 * time.Second, object{types + "temporary-reduced-capacity", reduced, 503,
			`Limit "perip" is used up. Try again in 3 seconds.`, []string{"perip", "default"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := refusal(c.retry, both...)
			d.Status = c.status
			w := rejected(http.MethodGet, "*/*", d)
			var got object
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if w.Code != c.status {
				t.Errorf("status %d, want %d", w.Code, c.status)
			}
		})
	}
}

func TestBodies(t *testing.T) {
	hostile := refusal(time.Second, applied("<script>alert(1)</script>", refuses(time.Second)))
	for _, c := range []struct{ accept, contentType, body string }{
		{"", "application/problem+json", `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",` +
			`"title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,` +
			`"detail":"Limit \"\u003cscript\u003ealert(1)\u003c/script\u003e\" is used up. Try again in 1 second.",` +
			`"violated-policies":["\u003cscript\u003ealert(1)\u003c/script\u003e"]}` + "\n"},
		{"text/plain", "text/plain; charset=utf-8", "429 Too Many Requests\n\nLimit \"<script>alert(1)</script>\" is used up. Try again in 1 second.\n"},
		{"text/html", "text/html; charset=utf-8", "<!doctype html>\n<html lang=\"en\">\n<title>429 Too Many Requests</title>\n" +
			"<h1>429 Too Many Requests</h1>\n<p>Limit &#34;&lt;script&gt;alert(1)&lt;/script&gt;&#34; is used up. Try again in 1 second.</p>\n</html>\n"},
	} {
		t.Run(c.contentType, func(t *testing.T) {
			w := rejected(http.MethodGet, c.accept, hostile)
			if diff := cmp.Diff(c.body, w.Body.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			want := http.Header{
				"Cache-Control":          {"no-store"},
				"Content-Type":           {c.contentType},
				"Retry-After":            {"1"},
				"X-Content-Type-Options": {"nosniff"},
			}
			if diff := cmp.Diff(want, w.Header()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			head := rejected(http.MethodHead, c.accept, hostile)
			if head.Body.Len() != 0 {
				t.Errorf("HEAD has the body %q", head.Body)
			}
			want.Set("Content-Length", strconv.Itoa(len(c.body)))
			if diff := cmp.Diff(want, head.Header()); diff != "" {
				t.Errorf("HEAD (-want +got):\n%s", diff)
			}
		})
	}
}

// Clients are told how long a body is, whoever says so.
func TestLengthOfABody(t *testing.T) {
	for _, n := range []int{5, mostCounted - 100, mostCounted - 1, mostCounted, mostCounted + 1, 10_000} {
		d := refusal(time.Second, applied(strings.Repeat("a", n), refuses(time.Second)))
		s := httptest.NewServer(New(&decided{decision: d}, Options{Headers: config.HeadersOff})(http.NotFoundHandler()))
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			for _, accept := range []string{"", "text/plain"} {
				want := rejected(http.MethodGet, accept, d).Body.Len()
				r, err := http.NewRequestWithContext(t.Context(), method, s.URL, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Accept", accept)
				res, err := s.Client().Do(r)
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				if res.ContentLength != int64(want) {
					t.Errorf("%s, %q, a name of %d bytes: length %d, want %d", method, accept, n, res.ContentLength, want)
				}
			}
		}
		s.Close()
	}
}

// A status that has no text is named by what it means.
func TestHeading(t *testing.T) {
	d := refusal(1, applied("perip", refuses(1)))
	d.Status = 420
	want := "420 Request cannot be satisfied as assigned quota has been exceeded\n"
	if got := rejected(http.MethodGet, "text/plain", d).Body.String(); !strings.HasPrefix(got, want) {
		t.Errorf("%q, want the beginning %q", got, want)
	}
}
