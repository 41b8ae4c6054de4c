package httplimit_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/httplimit"
	"github.com/headgate/headgate/userspace/keyed"
)

// forged are fields in which a client claims to be another.
func forged(ip string) []string {
	return []string{"X-Real-IP", ip, "X-Forwarded-For", ip, "Forwarded", "for=" + ip, "True-Client-IP", ip, "CF-Connecting-IP", ip}
}

// A limit by address is not got around by fields that anybody may send, and a proxy that is trusted is believed.
func TestCase01ForwardedFields(t *testing.T) {
	for _, c := range []struct {
		name string
		ip   config.ClientIP
		last int // status of the second request, which claims another address
	}{
		{"none", config.ClientIP{}, 429},
		{"proxies elsewhere", config.ClientIP{Header: "X-Forwarded-For", TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}, 429},
		{"trusted", config.ClientIP{Header: "X-Forwarded-For", TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, 200},
	} {
		for _, p := range protocols() {
			t.Run(fmt.Sprintf("%s/%s", p, c.name), func(t *testing.T) {
				h := one(0, perIP(1, time.Minute))
				h.ClientIP = c.ip
				s := serve(t, p, httplimit.New(rulesOf(t, h), new(clock).options(options{}))(new(passing)))
				if res := s.get("/", forged("198.51.100.1")...); res.status != 200 {
					t.Errorf("status %d at first", res.status)
				}
				if res := s.get("/", forged("198.51.100.2")...); res.status != c.last {
					t.Errorf("status %d of another address, want %d", res.status, c.last)
				}
			})
		}
	}
}

// A rule that is tried out does not wait.
func TestCase27DryRunDoesNotWait(t *testing.T) {
	h := queue()
	h.Rules[0].DryRun = true
	in(t, http1, h, new(passing), func(t *testing.T, b bubble) {
		for range 10 {
			if res := b.get("/"); res.status != 200 || b.now() != 0 {
				t.Errorf("status %d at %v", res.status, b.now())
			}
		}
	})
}

// A zone can be enforced by one rule and tried out by another.
func TestCase27DryRunBesideEnforced(t *testing.T) {
	h := one(1, perIP(1, time.Second))
	h.Rules[0].Continue = true
	tried := h.Rules[0]
	tried.Name, tried.DryRun = "tried", true
	tried.Limits = []config.Use{{Zone: 0, Burst: 0, Cost: 1}}
	h.Rules = append(h.Rules, tried)
	s := serve(t, http1, httplimit.New(rulesOf(t, h), new(clock).options(options{}))(new(passing)))
	for i, want := range []int{200, 200, 429} {
		res := s.get("/")
		if res.status != want {
			t.Errorf("status %d of request %d, want %d", res.status, i, want)
		}
		checkHeader(t, res, "RateLimit-Policy", `"perip";q=2;w=2`)
	}
}

// Retry-After is rounded up, however little is missing.
func TestCase27RetryAfterIsRoundedUp(t *testing.T) {
	var c clock
	s := serve(t, http1, httplimit.New(rulesOf(t, one(0, perIP(1, 2*time.Second))), c.options(options{}))(new(passing)))
	s.get("/")
	for _, step := range []struct {
		advance time.Duration
		want    string
	}{{0, "2"}, {1, "2"}, {time.Second - 1, "1"}, {time.Second - 1, "1"}} {
		c.advance(step.advance)
		checkHeader(t, s.get("/"), "Retry-After", step.want)
	}
	c.advance(1)
	if res := s.get("/"); res.status != 200 {
		t.Errorf("status %d after 2s", res.status)
	}
}

// A slot is occupied until the body has been written, not until the handler writes the header.
func TestCase27SlotToTheEndOfTheBody(t *testing.T) {
	sl := newSlots(1)
	s := serve(t, http1, sl.around(func(w http.ResponseWriter, _ *http.Request) {
		for range 3 {
			_, _ = w.Write([]byte("part of the body"))
			_ = http.NewResponseController(w).Flush()
			sl.checkFree(t, 0)
		}
	}))
	s.get("/")
	sl.checkFree(t, 1)
}

// 429 is the default of all limits, and one setting of the rule changes it for all.
func TestCase34Status(t *testing.T) {
	full := keyed.NewSlots(1, keyed.Options[string]{Name: "slots"})
	full.Take("everybody", 1, 0)
	s := serve(t, http1, httplimit.Limit(full, everybody, options{})(new(passing)))
	if res := s.get("/"); res.status != 429 {
		t.Errorf("status %d of slots", res.status)
	}
	for _, status := range []int{400, 403, 429, 503, 599} {
		for _, zone := range []config.Zone{perIP(1, time.Second), slotsPerIP(1)} {
			h := one(0, zone)
			h.Rules[0].Status = status
			h.Rules[0].Limits[0].Cost = 2 // more than the limit
			s := serve(t, http1, httplimit.New(rulesOf(t, h), new(clock).options(options{}))(new(passing)))
			if res := s.get("/"); res.status != status {
				t.Errorf("status %d of %s, want %d", res.status, zone.Name, status)
			}
		}
	}
}

// Retry-After is in seconds: not in milliseconds, not a fraction, not 0, never too early.
func TestCase54RetryAfterInSeconds(t *testing.T) { checkRetryAfter(t, time.Minute, "60") }
func TestCase56RetryAfterIsWhole(t *testing.T)   { checkRetryAfter(t, 1500*time.Millisecond, "2") }
func TestCase57RetryAfterIsCeiled(t *testing.T)  { checkRetryAfter(t, 62500*time.Millisecond, "63") }

// checkRetryAfter checks what is answered where a request a period is allowed.
func checkRetryAfter(t *testing.T, period time.Duration, want string) {
	t.Helper()
	for _, style := range styles() {
		for _, p := range protocols() {
			var c clock
			s := serve(t, p, httplimit.New(rulesOf(t, one(0, perIP(1, period))), c.options(options{Headers: style}))(new(passing)))
			s.get("/")
			res := s.get("/")
			checkHeader(t, res, "Retry-After", want)
			c.advance(res.retryAfter(t))
			if res := s.get("/"); res.status != 200 {
				t.Errorf("%s %s: status %d after Retry-After", style, p, res.status)
			}
		}
	}
}

func styles() []config.HeaderStyle {
	return []config.HeaderStyle{
		config.HeadersDraft10, config.HeadersPolli, config.HeadersXRateLimit, config.HeadersXRate, config.HeadersOff,
	}
}

// Of n that remain by the header, exactly n more pass at that instant, of each algorithm and in each family.
func TestCase58RemainingIsExact(t *testing.T) {
	for _, style := range styles()[:4] {
		for _, a := range algorithms() {
			t.Run(fmt.Sprintf("%s/%s", style, a.name), func(t *testing.T) {
				var c clock
				s := serve(t, http1, httplimit.New(rulesOf(t, a.rules), c.options(options{Headers: style}))(new(passing)))
				for range 10 {
					c.advance(7_777_777_777)
					res := s.get("/")
					if res.status != 200 {
						continue
					}
					for n := remaining(t, res, style); n >= 0; n-- {
						res := s.get("/")
						if passes := res.status == 200; passes != (n > 0) {
							t.Fatalf("status %d with %d remaining", res.status, n)
						}
						if got, want := remaining(t, res, style), max(n-1, 0); got != want {
							t.Fatalf("%d remain, want %d", got, want)
						}
					}
				}
			})
		}
	}
}

// remaining returns how many more requests a response promises.
func remaining(t *testing.T, res response, style config.HeaderStyle) int {
	t.Helper()
	name := map[config.HeaderStyle]string{
		config.HeadersPolli:      "RateLimit-Remaining",
		config.HeadersXRateLimit: "X-RateLimit-Remaining",
		config.HeadersXRate:      "X-Rate-Limit-Remaining",
	}[style]
	if name == "" {
		return draft10Remaining(t, res)
	}
	n, err := strconv.Atoi(res.header.Get(name))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// draft10Remaining returns the least of the limits.
func draft10Remaining(t *testing.T, res response) int {
	t.Helper()
	states, err := httpsfv.UnmarshalList(res.header.Values("RateLimit"))
	if err != nil || len(states) == 0 {
		t.Fatalf("RateLimit %q: %v", res.header.Values("RateLimit"), err)
	}
	least := int64(-1)
	for _, m := range states {
		r, _ := m.(httpsfv.Item).Params.Get("r")
		if n, ok := r.(int64); ok && (least < 0 || n < least) {
			least = n
		}
	}
	return int(least)
}

// The families have names with a version, and each answers in its own fields only.
func TestCase71Families(t *testing.T) {
	fields := map[config.HeaderStyle][]string{
		config.HeadersDraft10:    {"RateLimit-Policy", "RateLimit"},
		config.HeadersPolli:      {"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"},
		config.HeadersXRateLimit: {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"},
		config.HeadersXRate:      {"X-Rate-Limit-Limit", "X-Rate-Limit-Remaining", "X-Rate-Limit-Reset"},
		config.HeadersOff:        nil,
	}
	for _, style := range styles() {
		s := serve(t, http1, httplimit.New(rulesOf(t, one(1, perIP(1, time.Second))), new(clock).options(options{Headers: style}))(new(passing)))
		res := s.get("/")
		for of, names := range fields {
			for _, name := range names {
				if got := res.header.Get(name) != ""; got != (of == style) {
					t.Errorf("%s: %s %t", style, name, got)
				}
			}
		}
	}
}
