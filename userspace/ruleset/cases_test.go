package ruleset_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/headgate/headgate/test/golden"
	"github.com/headgate/headgate/userspace/ruleset"
)

// TestCase10RefusedRequestsDoNotEatTheOtherBudget: 1 a second and 10 a minute.
func TestCase10RefusedRequestsDoNotEatTheOtherBudget(t *testing.T) {
	for _, order := range []string{"{zone: second}, {zone: minute}", "{zone: minute}, {zone: second}"} {
		s := newSet(t, `
http:
  zones:
    second: {key: ip, rate: 1r/s, algorithm: window}
    minute: {key: ip, rate: 10r/m, algorithm: window}
  rules:
    - limits: [`+order+`]
`)
		for second := range 10 {
			now := start + time.Duration(second)*time.Second
			equal(t, "allowed in a second", passes(s, get("/"), 50, now), 1)
		}
		equal(t, "allowed in the 11th", passes(s, get("/"), 50, start+11*time.Second), 0)
	}
}

// TestCase11RefusedRequestsDoNotEatASharedBudget: one noisy client, and a limit for all.
func TestCase11RefusedRequestsDoNotEatASharedBudget(t *testing.T) {
	s := newSet(t, `
http:
  zones:
    all:   {key: "const:all", rate: 100r/m, algorithm: window}
    perip: {key: ip, rate: 5r/m, algorithm: window}
  rules:
    - limits: [{zone: all}, {zone: perip}]
`)
	equal(t, "noisy", passes(s, from("192.0.2.1", "/"), 1000, start), 5)
	for client := range 19 {
		equal(t, "another", passes(s, from(fmt.Sprintf("198.51.100.%d", client), "/"), 50, start), 5)
	}
	d := s.Decide(from("192.0.2.2", "/"), start)
	equal(t, "allowed beyond 20 clients' 5", d.Allowed, false)
	equal(t, "zone", d.Zone, "all")
}

const traced = `
http:
  zones:
    perip:  {key: ip, rate: 10r/s}
    login:  {key: [ip, path], rate: 5r/m}
    perapp: {key: "header:appid", rate: 1r/s, algorithm: window}
    shadow: {key: ip, rate: 1r/m}
  rules:
    - name: logins
      match: {path: /login}
      continue: true
      limits: [{zone: login, burst: 1}, {zone: perip, burst: 20, delay: 8}]
    - dry_run: true
      continue: true
      limits: [{zone: shadow}]
    - limits: [{zone: perapp}, {zone: perip, burst: 5, nodelay: true}]
      status: 503
    - limits: [{zone: perip}]
`

// TestCase12OrderOfZones: the trace of a decision shows which limits were asked, in the order of the
// file, and with which keys.
func TestCase12OrderOfZones(t *testing.T) {
	s := newSet(t, traced)
	var trace []byte
	for i := range 4 {
		d := s.Decide(with(get("/login"), "appid", "7"), start+time.Duration(i)*1500*time.Millisecond)
		if i == 0 {
			equal(t, "zones", slices.Equal(zones(d), []string{"login", "perip", "shadow", "perapp", "perip"}), true)
		}
		trace = append(trace, d.String()...)
		d.Free(start)
	}
	for range 2 {
		trace = append(trace, s.Decide(get("/x"), start+time.Hour).String()...)
	}
	golden.Check(t, "trace", trace)
}

// TestCase18TheKeyThatWasUsed: a decision tells whom it charged, and why him.
func TestCase18TheKeyThatWasUsed(t *testing.T) {
	s := newSet(t, `
http:
  client_ip: {header: X-Forwarded-For, trusted_proxies: [10.0.0.0/8]}
  zones:
    login: {key: [ip, path], rate: 1r/m}
  rules:
    - limits: [{zone: login}]
`)
	for _, c := range []struct{ forwarded, from, key string }{
		{"2001:db8::1, 10.0.0.2", "header", "2001:db8::/64, /login"},
		{"10.0.0.3", "all trusted", "10.0.0.3, /login"},
		{"nonsense", "malformed header", "10.0.0.1, /login"},
	} {
		d := s.Decide(with(from("10.0.0.1", "/login"), "X-Forwarded-For", c.forwarded), start)
		equal(t, "from", string(d.ClientFrom), c.from)
		equal(t, "key", d.Limits[0].Key(), c.key)
	}
}

// TestCase20NothingIsChargedIfOneRefuses: limits of each algorithm in front of and behind one that
// refuses stay as they were.
func TestCase20NothingIsChargedIfOneRefuses(t *testing.T) {
	s := newSet(t, `
http:
  zones:
    leaky:   {key: ip, rate: 10r/m}
    nginx:   {key: ip, rate: 10r/m, algorithm: nginx}
    window:  {key: ip, rate: 10r/m, algorithm: window}
    sliding: {key: ip, rate: 10r/m, algorithm: sliding}
    sketch:  {key: ip, rate: 10r/m, algorithm: sketch}
    slots:   {key: ip, concurrent: 10}
    narrow:  {key: path, rate: 1r/h}
  rules:
    - continue: true
      limits: [{zone: leaky, burst: 9, nodelay: true}, {zone: nginx, burst: 9, nodelay: true}, {zone: window}]
    - limits: [{zone: narrow}]
      continue: true
    - limits: [{zone: sliding}, {zone: sketch, burst: 9, nodelay: true}, {zone: slots}]
`)
	equal(t, "first", s.Decide(get("/a"), start).Allowed, true)
	for range 20 {
		d := s.Decide(get("/a"), start)
		equal(t, "allowed", d.Allowed, false)
		equal(t, "zone", d.Zone, "narrow")
		equal(t, "rule", d.Rule, "rule 2")
	}
	d := s.Explain(get("/b"), start)
	for _, a := range d.Limits {
		if want := uint64(8); a.Zone != "narrow" && a.Result.Remaining != want {
			t.Errorf("%s: %d remain, want %d", a.Zone, a.Result.Remaining, want)
		}
	}
	for _, zone := range []string{"leaky", "nginx", "window", "sliding", "sketch", "slots"} {
		equal(t, zone, zoneCounts(t, s, zone), ruleset.Counts{Allowed: 1, Spared: 20})
	}
}

// TestCase24RulesStackOnlyWithContinue: what a rule matched is not charged to those behind it.
func TestCase24RulesStackOnlyWithContinue(t *testing.T) {
	s := newSet(t, `
http:
  zones:
    api: {key: ip, rate: 100r/m, algorithm: window}
    all: {key: ip, rate: 2r/m, algorithm: window}
  rules:
    - match: {path: /health}
      limits: []
    - match: {path: "/api/*"}
      limits: [{zone: api}]
    - limits: [{zone: all}]
`)
	equal(t, "/health", passes(s, get("/health"), 50, start), 50)
	equal(t, "/api/", passes(s, get("/api/x"), 50, start), 50)
	equal(t, "others", passes(s, get("/"), 50, start), 2)
	equal(t, "exempted by a rule", ruleCounts(t, s, "rule 1"), ruleset.Counts{Allowed: 50})
}

// TestCase26ShadowBesideAnEnforcedLimit: the same key under a limit that is tried out.
func TestCase26ShadowBesideAnEnforcedLimit(t *testing.T) {
	s := newSet(t, `
http:
  zones:
    now:  {key: ip, rate: 5r/m, algorithm: window}
    next: {key: ip, rate: 2r/m, algorithm: window}
  rules:
    - {name: shadow, dry_run: true, continue: true, limits: [{zone: next}]}
    - {name: real, limits: [{zone: now}]}
`)
	for i := range 8 {
		d := s.Decide(get("/"), start)
		equal(t, "allowed", d.Allowed, i < 5)
		equal(t, "dry run", d.DryRun, 2 <= i && i < 5)
		equal(t, "shadow says", d.Limits[0].Result.Allowed, i < 2)
		equal(t, "named", d.Rule, []string{"", "", "shadow", "shadow", "shadow", "real", "real", "real"}[i])
	}
	equal(t, "shadow", ruleCounts(t, s, "shadow"), ruleset.Counts{Allowed: 2, WouldRefuse: 6})
	equal(t, "real", ruleCounts(t, s, "real"), ruleset.Counts{Allowed: 5, Refused: 3})
	equal(t, "zone of shadow", zoneCounts(t, s, "next"), ruleset.Counts{Allowed: 2, WouldRefuse: 6})
}

// TestCase27DryRunDoesNotWait: nor does it refuse.
func TestCase27DryRunDoesNotWait(t *testing.T) {
	s := newSet(t, `
http:
  zones:
    perip: {key: ip, rate: 1r/s}
  rules:
    - {dry_run: true, limits: [{zone: perip, burst: 2}]}
`)
	for i := range 5 {
		d := s.Decide(get("/"), start)
		equal(t, "allowed", d.Allowed, true)
		equal(t, "delay", d.Delay, 0)
		equal(t, "retry after", d.RetryAfter, 0)
		equal(t, "status", d.Status, 0)
		equal(t, "dry run", d.DryRun, i > 0)
	}
	equal(t, "rule", ruleCounts(t, s, "rule 1"), ruleset.Counts{Allowed: 1, WouldDelay: 2, WouldRefuse: 2})
}

// TestCase27DryRunAndEnforcedOnOneZone: each request is charged once, and the limit that is tried out
// takes nothing from the other, in whichever order.
func TestCase27DryRunAndEnforcedOnOneZone(t *testing.T) {
	const dry = "{name: dry, dry_run: true, continue: true, limits: [{zone: perip, burst: 1, nodelay: true}]}"
	const real = "{name: real, continue: true, limits: [{zone: perip, burst: 3, nodelay: true}]}"
	for _, rules := range []string{dry + "\n    - " + real, real + "\n    - " + dry} {
		s := newSet(t, `
http:
  zones:
    perip: {key: ip, rate: 1r/m}
  rules:
    - `+rules+"\n")
		equal(t, "allowed", passes(s, get("/"), 10, start), 4)
		equal(t, "real", ruleCounts(t, s, "real"), ruleset.Counts{Allowed: 4, Refused: 6})
		equal(t, "dry", ruleCounts(t, s, "dry"), ruleset.Counts{Allowed: 2, WouldRefuse: 8})
		equal(t, "a minute later", passes(s, get("/"), 10, start+time.Minute), 1)
	}
}

// TestCase27RetryAfterIsExact: no nanosecond less.
func TestCase27RetryAfterIsExact(t *testing.T) {
	s := newSet(t, `
http:
  zones:
    fast: {key: ip, rate: 3r/s}
    slow: {key: ip, rate: 7r/m}
  rules:
    - limits: [{zone: fast}, {zone: slow, burst: 1, nodelay: true}]
`)
	equal(t, "allowed", passes(s, get("/"), 1, start), 1)
	equal(t, "allowed", passes(s, get("/"), 1, start+time.Second), 1)
	d := s.Decide(get("/"), start+time.Second)
	equal(t, "allowed", d.Allowed, false)
	equal(t, "zone", d.Zone, "fast")
	equal(t, "after the longer of two", d.RetryAfter, d.Limits[1].Result.RetryAfter)
	equal(t, "too early", s.Explain(get("/"), start+time.Second+d.RetryAfter-1).Allowed, false)
	equal(t, "then", s.Decide(get("/"), start+time.Second+d.RetryAfter).Allowed, true)
}

// TestCase31RatesBeyondAThousand: nanoseconds by default; nginx counts in milliseconds.
func TestCase31RatesBeyondAThousand(t *testing.T) {
	for algorithm, want := range map[string]int{"leaky": 3000, "nginx": 1000} {
		s := newSet(t, `
http:
  zones:
    z: {key: ip, rate: 3000r/s, algorithm: `+algorithm+`}
  rules:
    - limits: [{zone: z}]
`)
		got := 0
		for now := start; now < start+time.Second; {
			d := s.Decide(get("/"), now)
			now += d.RetryAfter
			if d.Allowed {
				got++
			}
		}
		equal(t, algorithm, got, want)
	}
}

// TestCase35BurstIsWhatIsWritten: one more than it at an instant, whatever the rate.
func TestCase35BurstIsWhatIsWritten(t *testing.T) {
	for _, algorithm := range []string{"leaky", "nginx", "sketch"} {
		for _, rate := range []string{"1r/s", "100r/s"} {
			for burst, want := range map[string]int{"": 1, ", burst: 5, nodelay: true": 6, ", burst: 20, nodelay: true": 21} {
				s := newSet(t, `
http:
  zones:
    z: {key: ip, rate: `+rate+`, algorithm: `+algorithm+`}
  rules:
    - limits: [{zone: z`+burst+`}]
`)
				equal(t, algorithm+" "+rate+burst, passes(s, get("/"), 50, start), want)
			}
		}
	}
}

// TestCase53RefusedReconnectsAreNotCharged: who tries all the time gets in as soon as there is room.
func TestCase53RefusedReconnectsAreNotCharged(t *testing.T) {
	for _, algorithm := range []string{"leaky", "nginx", "window", "sliding", "sketch"} {
		s := newSet(t, `
http:
  zones:
    z: {key: ip, rate: 1r/m, algorithm: `+algorithm+`}
  rules:
    - limits: [{zone: z}]
`)
		got := 0
		for second := range 3600 {
			got += passes(s, get("/events"), 1, start+time.Duration(second)*time.Second)
		}
		want := 60
		if algorithm == "nginx" {
			want = 58 // it takes 1r/m for one in 62.5 s
		}
		equal(t, algorithm, got, want)
	}
}

// TestCase58RemainingIsWhatPasses: as many more as it says, and not one beyond.
func TestCase58RemainingIsWhatPasses(t *testing.T) {
	const bursts = ", burst: 6, nodelay: true"
	for _, c := range []struct{ zone, use string }{
		{"rate: 7r/m", bursts},
		{"rate: 7r/m, algorithm: nginx", bursts},
		{"rate: 7r/m, algorithm: sketch", bursts},
		{"rate: 7r/m, algorithm: window", ""},
		{"rate: 7r/m, algorithm: sliding", ""},
		{"concurrent: 7", ""},
	} {
		s := newSet(t, `
http:
  zones:
    z: {key: ip, `+c.zone+`}
  rules:
    - limits: [{zone: z`+c.use+`}]
`)
		for i := range uint64(10) {
			d := s.Decide(get("/"), start)
			equal(t, c.zone+": allowed", d.Allowed, i < 7)
			equal(t, c.zone+": remaining", d.Limits[0].Result.Remaining, 6-min(i, 6))
			equal(t, c.zone+": limit", d.Limits[0].Result.Limit, 7)
		}
	}
}
