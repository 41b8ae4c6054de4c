package ruleset_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/ruleset"
)

// tagsOf returns the tags of the calls for requests of clients 1 and 2 for a path, as people read them.
func tagsOf(t *testing.T, zones, rules, path string) []string {
	t.Helper()
	store := newFakeStore(t)
	l := machine(t, "http:\n  zones: {"+zones+"}\n  rules: ["+rules+"]\n", store, 1)
	for n := range 2 {
		decide(l, with(client(n+1, path), "Appid", fmt.Sprint("app-", n+1)))
	}
	var tags []string
	for _, c := range store.calls {
		if len(c.tag) > 1 { // and not a zone's name
			c.tag = clientip.Describe(c.tag)
		}
		tags = append(tags, c.tag)
	}
	return tags
}

const tagged = `
a: {key: ip, rate: 9r/h, store: redis}, b: {key: [path, ip], rate: 9r/h, store: redis}, c: {key: "header:appid", rate: 9r/h, store: redis},
d: {key: [ip, "header:appid"], rate: 9r/h, store: redis}, e: {key: ["header:appid", path, ip], rate: 9r/h, store: redis}, wide: {key: ip, ipv4_prefix: 24, rate: 9r/h, store: redis}`

// TestTags: limits that are asked together have the tag of what their keys have in common; a zone alone that of its key; and zones with nothing in
// common one of their own.
func TestTags(t *testing.T) {
	for _, c := range []struct {
		rules string
		want  []string
	}{
		{"{limits: [{zone: a}]}", []string{"192.0.2.1", "192.0.2.2"}},
		{"{limits: [{zone: b}]}", []string{"/x, 192.0.2.1", "/x, 192.0.2.2"}},
		{"{limits: [{zone: a}, {zone: b}]}", []string{"192.0.2.1", "192.0.2.2"}},
		{"{limits: [{zone: a}], continue: true}, {limits: [{zone: b}]}", []string{"192.0.2.1", "192.0.2.2"}},
		{"{limits: [{zone: b}]}, {limits: [{zone: a}]}", []string{"/x, 192.0.2.1", "/x, 192.0.2.2"}},
		{"{limits: [{zone: d}, {zone: e}]}", []string{"app-1, 192.0.2.1", "app-2, 192.0.2.2"}},
		{"{limits: [{zone: e}, {zone: d}]}", []string{"app-1, 192.0.2.1", "app-2, 192.0.2.2"}},
		{"{limits: [{zone: c}, {zone: d}, {zone: e}]}", []string{"app-1", "app-2"}},
		{"{limits: [{zone: c}, {zone: a}]}", []string{"a", "a"}},
		{"{limits: [{zone: wide}, {zone: b}]}", []string{"b", "b"}},
		{"{limits: [{zone: wide}]}", []string{"192.0.2.0/24", "192.0.2.0/24"}},
	} {
		if got := tagsOf(t, tagged, c.rules, "/x"); !slices.Equal(got, c.want) {
			t.Errorf("%s: tags %q, want %q", c.rules, got, c.want)
		}
	}
}

// TestTagsGoByTheRulesAlone: neither rules for other requests nor the order of zones and rules change them.
func TestTagsGoByTheRulesAlone(t *testing.T) {
	const both = "{limits: [{zone: b}, {zone: a}]}"
	want := tagsOf(t, tagged, both, "/x")
	for what, got := range map[string][]string{
		"another rule":      tagsOf(t, tagged, `{match: {host: other.example}, limits: [{zone: c}]}, `+both, "/x"),
		"another zone":      tagsOf(t, "z0: {key: host, rate: 1r/s, store: redis}, "+tagged, `{match: {host: other.example}, limits: [{zone: z0}]}, `+both, "/x"),
		"a zone of memory":  tagsOf(t, "z0: {key: host, rate: 9r/s}, "+tagged, `{limits: [{zone: z0, burst: 9}], continue: true}, `+both, "/x"),
		"rules other order": tagsOf(t, tagged, `{limits: [{zone: a}], continue: true}, {limits: [{zone: b}]}`, "/x"),
	} {
		if !slices.Equal(got, want) {
			t.Errorf("%s: tags %q, want %q", what, got, want)
		}
	}
}

// TestTagOfNothingInCommon is the same whatever the order of the zones.
func TestTagOfNothingInCommon(t *testing.T) {
	const a, b = `a: {key: ip, rate: 9r/h, store: redis}`, `b: {key: "header:appid", rate: 9r/h, store: redis}`
	for _, zones := range []string{a + ", " + b, b + ", " + a} {
		if got := tagsOf(t, zones, "{limits: [{zone: b}, {zone: a}]}", "/"); !slices.Equal(got, []string{"a", "a"}) {
			t.Errorf("%s: tags %q", zones, got)
		}
	}
}

const twoReadings = `
http:
  zones:
    app: {key: "header:appid", rate: 3r/h, algorithm: window, store: redis}
    ip:  {key: ip, rate: %dr/h, algorithm: window, store: redis}
  rules:
    - {match: {path: "/api/*"}, limits: [{zone: app}]}
    - {limits: [{zone: ip}]}
`

// TestTwoReadingsAreTwoCalls: a path that two rules read in two ways has limits of both, also where they are kept in two places, and
// is charged to both or to none.
func TestTwoReadingsAreTwoCalls(t *testing.T) {
	const both = "/api/../health"
	for _, c := range []struct{ ip, allowed int }{{9, 3}, {2, 2}} {
		store := newFakeStore(t)
		l := machine(t, fmt.Sprintf(twoReadings, c.ip), store, 1)
		for range 5 {
			decide(l, with(get(both), "Appid", "7"))
		}
		equal(t, "first call", fmt.Sprint(store.calls[0].zones, store.calls[1].zones), "[app] [ip]")
		equal(t, "charged to app", store.of("app"), uint64(c.allowed))
		equal(t, "charged to ip", store.of("ip"), uint64(c.allowed))
		equal(t, "allowed", l.Counters().Rules[1].Allowed, uint64(c.allowed))
	}
}

// TestTwoCallsTakeTheTimeOfOne: the second of two calls is told how long the first took.
func TestTwoCallsTakeTheTimeOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeStore(t)
		l := machine(t, fmt.Sprintf(twoReadings, 9), store, 1)
		store.during = func() { time.Sleep(7 * time.Millisecond) }
		decide(l, with(get("/api/../health"), "Appid", "7"))
		equal(t, "calls", len(store.calls), 2)
		equal(t, "spent before the first", store.calls[0].spent, 0)
		equal(t, "spent before the second", store.calls[1].spent, 7*time.Millisecond)
		decide(l, with(get("/health"), "Appid", "7"))
		equal(t, "spent before the only one", store.calls[2].spent, 0)
	})
}

// TestFailureOfTheSecondCall: what the first has charged is given back, and the request decided without the store.
func TestFailureOfTheSecondCall(t *testing.T) {
	store := newFakeStore(t)
	l := machine(t, fmt.Sprintf(twoReadings, 9), store, 3)
	calls := 0
	store.during = func() {
		calls++
		store.set(calls == 2)
	}
	ok, way := decide(l, with(get("/api/../health"), "Appid", "7"))
	equal(t, "allowed", ok, true)
	equal(t, "way", way, ruleset.Local)
	equal(t, "charged to app", store.of("app"), 0)
	equal(t, "returns", store.counts.returns, 1)
	equal(t, "calls", store.counts.takes, 2)
}

// TestTagOfAKeyThatIsWritten: who asks for a key finds it where requests left it; the store of the tests sees to that.
func TestTagOfAKeyThatIsWritten(t *testing.T) {
	for _, rules := range []string{"{limits: [{zone: b}, {zone: a}]}", "{limits: [{zone: b}]}", "{limits: [{zone: b}, {zone: c}]}", "{limits: [{zone: d}, {zone: b}]}"} {
		store := newFakeStore(t)
		l := machine(t, "http:\n  zones: {"+tagged+"}\n  rules: ["+rules+"]\n", store, 1)
		decide(l, with(client(1, "/x"), "Appid", "7"))
		states, err := l.Peek("b", []string{"/x", "192.0.2.1"}, start)
		if err != nil || len(states) != 1 || states[0].Owed != 1000 {
			t.Errorf("%s: %+v, %v", rules, states, err)
		}
		if known, err := l.Reset("b", []string{"/x", "192.0.2.1"}); err != nil || !known {
			t.Errorf("%s: known %t, %v", rules, known, err)
		}
		equal(t, "charged", store.of("b"), 0)
	}
}
