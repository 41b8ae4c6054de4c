package httplimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/httplimit"
	"github.com/headgate/headgate/userspace/ruleset"
)

type options = httplimit.Options

// A client that waits as long as Retry-After says is always let through, of each algorithm, at each protocol, wherever
// in a second it starts.
func TestObeyRetryAfter(t *testing.T) {
	for _, p := range protocols() {
		for _, a := range algorithms() {
			t.Run(fmt.Sprintf("%s/%s", p, a.name), func(t *testing.T) {
				var c clock
				s := serve(t, p, httplimit.New(rulesOf(t, a.rules), c.options(options{}))(new(passing)))
				refused := 0
				for i := range 40 {
					c.advance(time.Duration(i) * 77_777_777) // spread over the second
					res := s.get("/")
					if res.status == http.StatusOK {
						continue
					}
					refused++
					checkNotLater(t, res)
					c.advance(res.retryAfter(t))
					if again := s.get("/"); again.status != http.StatusOK {
						t.Fatalf("status %d after the %v of Retry-After", again.status, res.retryAfter(t))
					}
				}
				if refused == 0 {
					t.Error("no request was refused")
				}
			})
		}
	}
}

type algorithm struct {
	name  string
	rules config.HTTP
}

// algorithms returns configurations of one zone, and one of several.
func algorithms() []algorithm {
	zone := func(a config.Algorithm, count uint64, per time.Duration) config.Zone {
		return config.Zone{Name: string(a), Key: byIP(), Algorithm: a, Quota: quota(count, per)}
	}
	const short = 10 * time.Second
	return []algorithm{
		{"leaky", one(2, zone(config.Leaky, 3, short))},
		{"leaky, an hour", one(1, zone(config.Leaky, 7, time.Hour))},
		{"nginx", one(2, zone(config.Nginx, 7, time.Minute))},
		{"window", one(0, zone(config.Window, 3, short))},
		{"sliding", one(0, zone(config.Sliding, 3, short))},
		{"sketch", one(2, zone(config.Sketch, 3, short))},
		{"several", one(2, zone(config.Leaky, 3, short), zone(config.Window, 7, 10*short))},
	}
}

// checkNotLater checks that all of RateLimit is there by Retry-After.
func checkNotLater(t *testing.T, res response) {
	t.Helper()
	states, err := httpsfv.UnmarshalList(res.header.Values("RateLimit"))
	if err != nil || len(states) == 0 {
		t.Fatalf("RateLimit %q: %v", res.header.Values("RateLimit"), err)
	}
	for _, m := range states {
		more, ok := m.(httpsfv.Item).Params.Get("t")
		if ok && time.Duration(more.(int64))*time.Second > res.retryAfter(t) {
			t.Errorf("RateLimit %q, Retry-After %q", res.header.Values("RateLimit"), res.header.Get("Retry-After"))
		}
	}
}

func TestHeadersOfResponses(t *testing.T) {
	for _, p := range protocols() {
		t.Run(string(p), func(t *testing.T) {
			var c clock
			h := one(20, perIP(10, time.Second), slotsPerIP(10))
			s := serve(t, p, httplimit.New(rulesOf(t, h), c.options(options{}))(new(passing)))
			res := s.get("/")
			checkHeader(t, res, "RateLimit-Policy", `"perip";q=21;w=3, "slots";q=10;qu="concurrent-requests"`)
			checkHeader(t, res, "RateLimit", `"perip";r=20;t=1, "slots";r=9`)
			checkHeader(t, res, "Retry-After", "")
			checkHeader(t, res, "Cache-Control", "")
			for range 20 {
				s.get("/")
			}
			res = s.get("/", "Accept", "text/plain")
			checkHeader(t, res, "RateLimit-Policy", `"perip";q=21;w=3, "slots";q=10;qu="concurrent-requests"`)
			checkHeader(t, res, "RateLimit", `"perip";r=0;t=1, "slots";r=10`)
			checkHeader(t, res, "Retry-After", "1")
			checkHeader(t, res, "Cache-Control", "no-store")
			checkHeader(t, res, "Content-Type", "text/plain; charset=utf-8")
			if want := "429 Too Many Requests\n\nLimit \"perip\" is used up. Try again in 1 second.\n"; res.status != 429 || res.body != want {
				t.Errorf("%d %q, want 429 %q", res.status, res.body, want)
			}
			head := s.do(http.MethodHead, "/", "")
			if head.status != 429 || head.body != "" || head.header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("HEAD: %+v", head)
			}
		})
	}
}

func checkHeader(t *testing.T, res response, name, want string) {
	t.Helper()
	if got := res.header.Get(name); got != want {
		t.Errorf("%s: %q, want %q", name, got, want)
	}
}

// What is off, what no rule matches and what is only tried out leaves no trace in a response.
func TestNoHeaders(t *testing.T) {
	limited := one(0, perIP(1, time.Second))
	elsewhere := one(0, perIP(1, time.Second))
	elsewhere.Rules[0].Match.Path.Exact = "/login"
	tried := one(0, perIP(1, time.Second))
	tried.Rules[0].DryRun = true
	for _, c := range []struct {
		name    string
		rules   config.HTTP
		options options
	}{
		{"off", limited, options{Headers: config.HeadersOff}},
		{"only rejected", limited, options{OnlyRejected: true}},
		{"no rule", elsewhere, options{}},
		{"dry run", tried, options{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, http1, httplimit.New(rulesOf(t, c.rules), new(clock).options(c.options))(new(passing)))
			for name := range s.get("/").header {
				switch name {
				case "Date", "Content-Length", "Content-Type":
				default:
					t.Errorf("the response has %s", name)
				}
			}
		})
	}
}

func TestOnlyRejected(t *testing.T) {
	s := serve(t, http1, httplimit.New(rulesOf(t, one(0, perIP(1, time.Second))), new(clock).options(options{OnlyRejected: true}))(new(passing)))
	s.get("/")
	checkHeader(t, s.get("/"), "RateLimit", `"perip";r=0;t=1`)
}

// The next handler sees the fields, and may change them.
func TestHandlerMayChangeHeaders(t *testing.T) {
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("RateLimit", w.Header().Get("RateLimit")+", mine")
		w.Header().Del("RateLimit-Policy")
	})
	s := serve(t, http1, httplimit.New(rulesOf(t, one(0, perIP(1, time.Second))), new(clock).options(options{}))(next))
	res := s.get("/")
	checkHeader(t, res, "RateLimit", `"perip";r=0;t=1, mine`)
	checkHeader(t, res, "RateLimit-Policy", "")
}

func TestReject(t *testing.T) {
	reject := func(w http.ResponseWriter, r *http.Request, d *ruleset.Decision) {
		w.WriteHeader(d.Status)
		fmt.Fprintf(w, "%s: %s in %s", r.URL.Path, d.Zone, w.Header().Get("Retry-After"))
	}
	var c clock
	h := one(0, perIP(1, time.Minute))
	h.Rules[0].Status = 444
	s := serve(t, http1, httplimit.New(rulesOf(t, h), c.options(options{Reject: reject}))(new(passing)))
	s.get("/")
	res := s.get("/x")
	if res.status != 444 || res.body != "/x: perip in 60" {
		t.Errorf("%d %q", res.status, res.body)
	}
	checkHeader(t, res, "Cache-Control", "no-store")
	checkHeader(t, res, "RateLimit", `"perip";r=0;t=60`)
}

// What no waiting makes fit has no Retry-After.
func TestNever(t *testing.T) {
	h := one(1, perIP(1, time.Second))
	h.Rules[0].Limits[0].Cost = 3
	s := serve(t, http1, httplimit.New(rulesOf(t, h), new(clock).options(options{}))(new(passing)))
	res := s.get("/", "Accept", "text/plain")
	if want := "429 Too Many Requests\n\nThe request is larger than limit \"perip\" allows at once. Trying again does not help.\n"; res.body != want {
		t.Errorf("%q, want %q", res.body, want)
	}
	checkHeader(t, res, "Retry-After", "")
}

// A limit for each address takes a line, and no service.
func TestCase25PerIP(t *testing.T) {
	for _, c := range []struct {
		quota string
		burst uint64
	}{{"10", 0}, {"0r/s", 0}, {"10kpps", 0}, {"", 0}, {"1r/h", 1 << 63}} {
		if _, err := httplimit.PerIP(c.quota, c.burst, options{}); err == nil {
			t.Errorf("PerIP(%q, %d) has no error", c.quota, c.burst)
		}
	}
	var c clock
	perIP, err := httplimit.PerIP("30r/m", 2, c.options(options{}))
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, http1, perIP(new(passing)))
	for _, want := range []string{`"perip";r=2;t=2`, `"perip";r=1;t=2`, `"perip";r=0;t=2`} {
		checkHeader(t, s.get("/"), "RateLimit", want)
	}
	res := s.get("/", "X-Forwarded-For", "192.0.2.1", "X-Real-IP", "192.0.2.1", "Forwarded", "for=192.0.2.1")
	if res.status != 429 {
		t.Errorf("status %d", res.status)
	}
	checkHeader(t, res, "RateLimit-Policy", `"perip";q=3;w=6`)
	checkHeader(t, res, "Retry-After", "2")
}

// Of PerIP's burst nothing waits, and an IPv6 client is its /64.
func TestPerIPByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		perIP, err := httplimit.PerIP("1r/m", 1, options{})
		if err != nil {
			t.Fatal(err)
		}
		limited, began := perIP(new(passing)), time.Now()
		for i, want := range []int{200, 200, 429} {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = fmt.Sprintf("[2001:db8::%d]:1", i)
			w := httptest.NewRecorder()
			if limited.ServeHTTP(w, r); w.Code != want || time.Since(began) != 0 {
				t.Errorf("status %d of request %d after %v, want %d at once", w.Code, i, time.Since(began), want)
			}
		}
	})
}

// Who has no address is not limited by it.
func TestPerIPWithoutAddress(t *testing.T) {
	perIP, err := httplimit.PerIP("1r/m", 0, options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = "@"
		w := httptest.NewRecorder()
		if perIP(new(passing)).ServeHTTP(w, r); w.Code != http.StatusOK || w.Header().Get("RateLimit") != "" {
			t.Errorf("status %d, RateLimit %q", w.Code, w.Header().Get("RateLimit"))
		}
	}
}
