package ruleset_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/ruleset"
)

// While a window lasts, no more pass in it than by the highest of its rates, however often the rate goes down and up.
func TestReplaceWithinAWindow(t *testing.T) {
	for _, algorithm := range []string{"window", "sliding"} {
		file := func(rate string) string { return zoned("algorithm: "+algorithm+", rate: "+rate, "") }
		l := newLive(t, file("100r/h"))
		passed := passes(l, get("/"), 200, start)
		for i := range 20 {
			now := start + time.Duration(i)*time.Minute
			replaceAt(t, l, file("50r/h"), now)
			passed += passes(l, get("/"), 200, now)
			replaceAt(t, l, file("100r/h"), now)
			passed += passes(l, get("/"), 200, now)
		}
		equal(t, algorithm, passed, 100)
	}
}

// A key whose window has another length now is not told of by the old one for longer than that lasted.
func TestTopAfterAnotherWindow(t *testing.T) {
	file := func(rate string) string {
		return zoned("algorithm: window, rate: 10r/m, overrides: [{value: [192.0.2.1, /], rate: "+rate+"}]", "")
	}
	l := newLive(t, file("5r/m"))
	equal(t, "before", passes(l, get("/"), 20, start), 5)
	replace(t, l, file("7r/h"))
	equal(t, "at once", len(top(t, l, start+time.Second)), 1)
	equal(t, "later", len(top(t, l, start+time.Minute)), 0)
}

func top(t *testing.T, l *ruleset.Live, now time.Duration) []ruleset.KeyState {
	t.Helper()
	all, err := l.Top("z", 10, now)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A key of which several rules have a limit owes up to the largest burst of them, over a change too.
func TestReplaceKeepsTheLargestBurst(t *testing.T) {
	for _, algorithm := range []string{"leaky", "sketch"} {
		file := func(rate string) string {
			return fmt.Sprintf(`
http:
  zones:
    z: {key: ip, algorithm: %s, rate: %s}
  rules:
    - {match: {path: /small}, limits: [{zone: z, burst: 4, nodelay: true}]}
    - {limits: [{zone: z, burst: 99, nodelay: true}]}
`, algorithm, rate)
		}
		l := newLive(t, file("1r/h"))
		equal(t, algorithm+" before", passes(l, get("/"), 60, start), 60)
		replace(t, l, file("2r/h"))
		equal(t, algorithm+" small", passes(l, get("/small"), 10, start), 0)
		equal(t, algorithm+" after", passes(l, get("/"), 200, start), 40)
	}
}

// Until a change keys drain at the old rate, also where nobody has asked about them for long.
func TestReplaceOfIdleKeys(t *testing.T) {
	for _, algorithm := range []string{"leaky", "sketch", "nginx"} {
		l := newLive(t, zoned("rate: 10r/s, algorithm: "+algorithm, ", burst: 9, nodelay: true"))
		equal(t, algorithm+" before", passes(l, get("/"), 20, start), 10)
		replaceAt(t, l, zoned("rate: 1r/m, algorithm: "+algorithm, ", burst: 9, nodelay: true"), start+500*time.Millisecond)
		want := 5
		if algorithm == "nginx" {
			want = 0 // its excess stays what it is
		}
		equal(t, algorithm+" later", passes(l, get("/"), 20, start+time.Second), want)
	}
}

// overridden is a file with one zone, used or not, and overrides as "192.0.2.1 2r/s".
func overridden(isUsed bool, overrides ...string) string {
	var list []string
	for _, o := range overrides {
		value, rate, _ := strings.Cut(o, " ")
		list = append(list, "{value: "+value+", rate: "+rate+"}")
	}
	rules := "[]"
	if isUsed {
		rules = "[{limits: [{zone: z, burst: 9, nodelay: true}]}]"
	}
	return "http:\n  zones: {z: {key: ip, rate: 1r/h, overrides: [" + strings.Join(list, ", ") + "]}}\n  rules: " + rules + "\n"
}

// What is left of a key drains at the rate that its override has now, also where overrides change their places while no rule uses the zone.
func TestReplaceMovesOverrides(t *testing.T) {
	for _, isUsed := range []bool{true, false} {
		l := newLive(t, overridden(true, "192.0.2.1 10r/s", "192.0.2.2 1r/m"))
		equal(t, "before", passes(l, get("/"), 20, start), 10)
		replace(t, l, overridden(isUsed, "192.0.2.2 1r/m", "192.0.2.3 7r/m", "192.0.2.1 10r/s"))
		replace(t, l, overridden(true, "192.0.2.1 10r/s", "192.0.2.2 1r/m"))
		equal(t, "later", passes(l, get("/"), 20, start+500*time.Millisecond), 5)
	}
}

// Of several overrides that had one rate, the first decides at what rate keys drain until they are charged.
func TestReplaceOfOverridesWithOneRate(t *testing.T) {
	was, now := []string{"192.0.2.1 2r/s"}, []string{"192.0.2.1 10r/s"}
	for host := 2; host < 20; host++ {
		was = append(was, fmt.Sprintf("192.0.2.%d 2r/s", host))
		now = append(now, fmt.Sprintf("192.0.2.%d 1r/m", host))
	}
	l := newLive(t, overridden(true, was...))
	equal(t, "before", passes(l, get("/"), 20, start), 10)
	replace(t, l, overridden(true, now...))
	equal(t, "later", passes(l, get("/"), 20, start+500*time.Millisecond), 5)
}

// Another part of the address is another key.
func TestReplaceOfThePrefix(t *testing.T) {
	for _, prefix := range []string{"ipv4_prefix: 24", "ipv6_prefix: 56"} {
		l := newLive(t, zoned("rate: 1r/h", ", burst: 9, nodelay: true"))
		passes(l, get("/"), 20, start)
		replace(t, l, zoned("rate: 1r/h, "+prefix, ", burst: 9, nodelay: true"))
		equal(t, prefix, passes(l, get("/"), 20, start), 10)
	}
}
