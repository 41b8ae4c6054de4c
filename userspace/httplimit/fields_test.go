package httplimit

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/ruleset"
)

// applied is a rate of 10r/s with a burst of 20 unless changed.
func applied(zone string, change ...func(*ruleset.Applied)) ruleset.Applied {
	a := ruleset.Applied{
		Zone:   zone,
		Window: 2100 * time.Millisecond,
		Result: limit.Result{Allowed: true, Limit: 21, Remaining: 20, NextAfter: 100 * time.Millisecond},
	}
	for _, c := range change {
		c(&a)
	}
	return a
}

func dryRun(a *ruleset.Applied) { a.DryRun = true }

func slots(a *ruleset.Applied) {
	a.Window = 0
	a.Result = limit.Result{Allowed: true, Limit: 10, Remaining: 3}
}

// occupied is that nobody knows when a slot will be free.
func occupied(a *ruleset.Applied) {
	a.Result = limit.Result{Limit: 10, RetryAfter: 1}
}

func leaves(remaining uint64, next time.Duration) func(*ruleset.Applied) {
	return func(a *ruleset.Applied) { a.Result.Remaining, a.Result.NextAfter = remaining, next }
}

func refuses(retry time.Duration) func(*ruleset.Applied) {
	return func(a *ruleset.Applied) {
		a.Result.Allowed, a.Result.Remaining = false, 0
		a.Result.RetryAfter, a.Result.NextAfter = retry, max(retry, 0)
	}
}

func huge(a *ruleset.Applied) {
	a.Window = math.MaxInt64
	a.Result.Limit, a.Result.Remaining, a.Result.NextAfter = math.MaxUint64, math.MaxUint64, math.MaxInt64
}

func passes(limits ...ruleset.Applied) *ruleset.Decision {
	return &ruleset.Decision{Allowed: true, Limits: limits}
}

func refusal(retry time.Duration, limits ...ruleset.Applied) *ruleset.Decision {
	d := &ruleset.Decision{Status: 429, RetryAfter: retry, Limits: limits}
	for _, a := range limits {
		if !a.DryRun && !a.Result.Allowed {
			d.Rule, d.Zone = a.Rule, a.Zone
			break
		}
	}
	return d
}

type fieldCase struct {
	name              string
	decision          *ruleset.Decision
	policy, state     string
	most, rest, reset string
}

func fieldCases() []fieldCase {
	return []fieldCase{
		{
			"one", passes(applied("perip")),
			`"perip";q=21;w=3`, `"perip";r=20;t=1`, "21", "20", "1",
		}, {
			"full", passes(applied("perip", leaves(21, 0))),
			`"perip";q=21;w=3`, `"perip";r=21;t=0`, "21", "21", "0",
		}, {
			"whole seconds are not rounded", passes(applied("perip", leaves(20, 2*time.Second))),
			`"perip";q=21;w=3`, `"perip";r=20;t=2`, "21", "20", "2",
		}, {
			"a nanosecond more is a second", passes(applied("perip", leaves(20, 2*time.Second+1))),
			`"perip";q=21;w=3`, `"perip";r=20;t=3`, "21", "20", "3",
		}, {
			"several", passes(applied("perip"), applied("login", leaves(2, time.Minute))),
			`"perip";q=21;w=3, "login";q=21;w=3`, `"perip";r=20;t=1, "login";r=2;t=60`, "21", "2", "60",
		}, {
			"of equal ones the slower", passes(applied("perip"), applied("login", leaves(20, time.Minute))),
			`"perip";q=21;w=3, "login";q=21;w=3`, `"perip";r=20;t=1, "login";r=20;t=60`, "21", "20", "60",
		}, {
			"slots", passes(applied("slots", slots)),
			`"slots";q=10;qu="concurrent-requests"`, `"slots";r=3`, "10", "3", "0",
		}, {
			"slots refuse", refusal(1, applied("slots", slots, occupied)),
			`"slots";q=10;qu="concurrent-requests"`, `"slots";r=0`, "10", "0", "1",
		}, {
			"dry run is not shown", passes(applied("try", dryRun, leaves(0, time.Hour)), applied("perip")),
			`"perip";q=21;w=3`, `"perip";r=20;t=1`, "21", "20", "1",
		}, {
			"only dry run", passes(applied("try", dryRun)), "", "", "", "", "",
		}, {
			"no limit", passes(), "", "", "", "", "",
		}, {
			"a zone twice", passes(applied("perip"), applied("perip", leaves(4, time.Second)), applied("perip", dryRun, leaves(1, 1))),
			`"perip";q=21;w=3`, `"perip";r=4;t=1`, "21", "4", "1",
		}, {
			"a zone twice the same", passes(applied("perip"), applied("perip")),
			`"perip";q=21;w=3`, `"perip";r=20;t=1`, "21", "20", "1",
		}, {
			"refused", refusal(1500*time.Millisecond, applied("perip", refuses(1500*time.Millisecond))),
			`"perip";q=21;w=3`, `"perip";r=0;t=2`, "21", "0", "2",
		}, {
			"nothing is later than Retry-After", refusal(1, applied("daily", leaves(1, time.Hour)), applied("perip", refuses(1))),
			`"daily";q=21;w=3, "perip";q=21;w=3`, `"daily";r=1, "perip";r=0;t=1`, "21", "0", "1",
		}, {
			"costs 10", refusal(time.Minute, applied("daily", leaves(1, time.Hour)), applied("perip", refuses(time.Minute), leaves(5, time.Second))),
			`"daily";q=21;w=3, "perip";q=21;w=3`, `"daily";r=1, "perip";r=5;t=1`, "21", "5", "60",
		}, {
			"no waiting helps", refusal(limit.Never, applied("perip", refuses(limit.Never), leaves(9, 60*time.Second))),
			`"perip";q=21;w=3`, `"perip";r=9;t=60`, "21", "9", "60",
		}, {
			"no window is known", passes(applied("perip", func(a *ruleset.Applied) { a.Window = unknownWindow })),
			`"perip";q=21`, `"perip";r=20;t=1`, "21", "20", "1",
		}, {
			"names", passes(applied(`a"b\c`), applied("ü\n"), applied("")),
			`"a\"b\\c";q=21;w=3, "%c3%bc%0a";q=21;w=3, "default";q=21;w=3`,
			`"a\"b\\c";r=20;t=1, "%c3%bc%0a";r=20;t=1, "default";r=20;t=1`, "21", "20", "1",
		}, {
			"the largest", passes(applied("big", huge)),
			`"big";q=999999999999999;w=9223372037`, `"big";r=999999999999999;t=9223372037`,
			"999999999999999", "999999999999999", "9223372037",
		},
	}
}

// setFields sets in h what a response says of d.
func setFields(h http.Header, d *ruleset.Decision, o Options) {
	var r Response
	r.Tell(d, &o)
	r.SetIn(h)
}

func TestFields(t *testing.T) {
	for _, c := range fieldCases() {
		t.Run(c.name, func(t *testing.T) {
			families := map[config.HeaderStyle]http.Header{
				config.HeadersDraft10:    {"Ratelimit-Policy": {c.policy}, "Ratelimit": {c.state}},
				config.HeadersPolli:      {"Ratelimit-Limit": {c.most}, "Ratelimit-Remaining": {c.rest}, "Ratelimit-Reset": {c.reset}},
				config.HeadersXRateLimit: {"X-Ratelimit-Limit": {c.most}, "X-Ratelimit-Remaining": {c.rest}, "X-Ratelimit-Reset": {c.reset}},
				config.HeadersXRate:      {"X-Rate-Limit-Limit": {c.most}, "X-Rate-Limit-Remaining": {c.rest}, "X-Rate-Limit-Reset": {c.reset}},
				config.HeadersOff:        {},
			}
			for style, want := range families {
				if c.policy == "" {
					want = http.Header{}
				}
				got := http.Header{}
				setFields(got, c.decision, Options{Headers: style})
				got.Del("Cache-Control") // these two are of all families
				got.Del("Retry-After")
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", style, diff)
				}
			}
		})
	}
}

// Each value of draft10 is a list of strings with integers, as a parser that is not ours reads it, and Retry-After
// is never before t.
func TestFieldsParse(t *testing.T) {
	for _, c := range fieldCases() {
		t.Run(c.name, func(t *testing.T) {
			h := http.Header{}
			setFields(h, c.decision, Options{})
			policies, states := parseList(t, h, "RateLimit-Policy"), parseList(t, h, "RateLimit")
			if len(policies) != len(states) {
				t.Fatalf("%d policies, %d states", len(policies), len(states))
			}
			for i := range states {
				if policies[i].Value != states[i].Value {
					t.Errorf("policy %v, state %v", policies[i].Value, states[i].Value)
				}
				checkParameter(t, policies[i], "q", 0, true)
				checkParameter(t, policies[i], "w", 1, false)
				checkParameter(t, states[i], "r", 0, true)
				more := checkParameter(t, states[i], "t", 0, false)
				if d := c.decision; !d.Allowed && d.RetryAfter != limit.Never && more > int64(retrySeconds(d)) {
					t.Errorf("t is %d, Retry-After %d", more, retrySeconds(d))
				}
			}
		})
	}
}

func parseList(t *testing.T, h http.Header, name string) []httpsfv.Item {
	t.Helper()
	list, err := httpsfv.UnmarshalList(h.Values(name))
	if err != nil {
		t.Fatalf("%s %q: %v", name, h.Values(name), err)
	}
	var items []httpsfv.Item
	for _, m := range list {
		item, ok := m.(httpsfv.Item)
		if !ok {
			t.Fatalf("%s: %v is not an item", name, m)
		}
		if _, ok := item.Value.(string); !ok {
			t.Errorf("%s: %v is not a string", name, item.Value)
		}
		items = append(items, item)
	}
	return items
}

// checkParameter returns an integer parameter, 0 if there is none.
func checkParameter(t *testing.T, item httpsfv.Item, name string, least int64, required bool) int64 {
	t.Helper()
	value, ok := item.Params.Get(name)
	if !ok {
		if required {
			t.Errorf("%v has no %s", item.Value, name)
		}
		return 0
	}
	n, ok := value.(int64)
	if !ok || n < least {
		t.Errorf("%v has %s=%v, want an integer of at least %d", item.Value, name, value, least)
	}
	return n
}

// Middleware further out has limits of its own: a list goes on.
func TestFieldsOfTwo(t *testing.T) {
	h := http.Header{}
	setFields(h, passes(applied("outer")), Options{})
	setFields(h, passes(applied("inner")), Options{})
	var names []any
	for _, item := range parseList(t, h, "RateLimit") {
		names = append(names, item.Value)
	}
	if diff := cmp.Diff([]any{"outer", "inner"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Who adds a value to a field changes no other, though all lists are of one array.
func TestFieldsAreTheirOwn(t *testing.T) {
	h, want := http.Header{}, http.Header{}
	setFields(h, refusal(time.Second, applied("perip", refuses(time.Second))), Options{})
	setFields(want, refusal(time.Second, applied("perip", refuses(time.Second))), Options{})
	for name := range want {
		want[name] = []string{want[name][0], "more"}
		h.Add(name, "more")
	}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		text  string
		ok    bool
	}{
		{0, "1", true}, {1, "1", true}, {time.Millisecond, "1", true},
		{time.Second, "1", true}, {time.Second + 1, "2", true}, {1999 * time.Millisecond, "2", true},
		{2 * time.Second, "2", true}, {24 * time.Hour, "86400", true},
		{math.MaxInt64, "9223372037", true}, {limit.Never, "", false},
	} {
		h := http.Header{}
		setFields(h, refusal(c.after), Options{Headers: config.HeadersOff})
		if text, ok := h.Get("Retry-After"), h["Retry-After"] != nil; text != c.text || ok != c.ok {
			t.Errorf("%v: %q %t, want %q %t", c.after, text, ok, c.text, c.ok)
		}
	}
}
