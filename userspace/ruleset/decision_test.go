package ruleset_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/ruleset"
)

// TestWhatIsNamed: the first limit that refuses, with its rule's status, and the longest of all
// times to wait; else the limit that delays longest.
func TestWhatIsNamed(t *testing.T) {
	s := newSet(t, `
http:
  zones:
    quick: {key: ip, rate: 1r/s}
    slow:  {key: ip, rate: 1r/m}
    last:  {key: ip, rate: 1r/s}
  rules:
    - {status: 503, continue: true, limits: [{zone: quick, burst: 2}]}
    - {status: 418, limits: [{zone: slow, burst: 2}, {zone: last, burst: 2}]}
`)
	for i, want := range []struct {
		allowed    bool
		delay      time.Duration
		rule, zone string
		excess     uint64
		status     int
		retry      time.Duration
	}{
		{allowed: true},
		{allowed: true, delay: time.Minute, rule: "rule 2", zone: "slow", excess: 1000},
		{allowed: true, delay: 2 * time.Minute, rule: "rule 2", zone: "slow", excess: 2000},
		{rule: "rule 1", zone: "quick", excess: 3000, status: 503, retry: time.Minute},
	} {
		d := s.Decide(get("/"), start)
		got := want
		got.allowed, got.delay, got.rule, got.zone = d.Allowed, d.Delay, d.Rule, d.Zone
		got.excess, got.status, got.retry = d.Excess, d.Status, d.RetryAfter
		if got != want {
			t.Errorf("request %d: got %+v, want %+v", i, got, want)
		}
	}
	equal(t, "rule 1", ruleCounts(t, s, "rule 1"), ruleset.Counts{Allowed: 1, Delayed: 2, Refused: 1})
	equal(t, "zone last", zoneCounts(t, s, "last"), ruleset.Counts{Allowed: 1, Delayed: 2, Refused: 1})
	d := s.Decide(get("/"), start+time.Second)
	equal(t, "zone after a second", d.Zone, "slow")
	equal(t, "status", d.Status, 418)
	equal(t, "retry after", d.RetryAfter, 59*time.Second)
}

// TestWindows: in which an idle key is given as many requests as it may send at one instant.
func TestWindows(t *testing.T) {
	for _, c := range []struct {
		zone, use string
		window    time.Duration
		quota     string
	}{
		{"rate: 10r/s", ", burst: 20, nodelay: true", 2100 * time.Millisecond, "10r/s"},
		{"rate: 3r/s", "", 333333334, "3r/s"},
		{"rate: 1r/m, algorithm: nginx", ", burst: 1", 125 * time.Second, "1r/m"}, // nginx's is one in 62.5s
		{"rate: 10r/s, algorithm: nginx", ", burst: 20", 2100 * time.Millisecond, "10r/s"},
		{"rate: 60r/m, algorithm: sketch", ", burst: 5", 6 * time.Second, "60r/m"},
		{"rate: 60r/m, algorithm: window", "", time.Minute, "60r/m"},
		{"rate: 100r/h, algorithm: sliding", "", time.Hour, "100r/h"},
		{"concurrent: 3", "", 0, ""},
	} {
		s := newSet(t, `
http:
  zones:
    z: {key: ip, `+c.zone+`}
  rules:
    - limits: [{zone: z`+c.use+`}]
`)
		d := s.Decide(get("/"), start)
		equal(t, c.zone+": window", d.Limits[0].Window, c.window)
		equal(t, c.zone+": quota", d.Limits[0].Quota, c.quota)
	}
}

// TestZoneUsedTwice: a request is charged to it once, and passes if all that use it let it.
func TestZoneUsedTwice(t *testing.T) {
	s := newSet(t, `
http:
  zones:
    z: {key: ip, rate: 1r/h}
    c: {key: ip, concurrent: 5}
  rules:
    - {continue: true, limits: [{zone: z, burst: 9, nodelay: true}, {zone: c}]}
    - {limits: [{zone: z, burst: 3, nodelay: true}, {zone: c}]}
`)
	d := s.Decide(get("/"), start)
	equal(t, "under way", underWay(s), 1)
	d.Release(start)
	equal(t, "under way", underWay(s), 0)
	equal(t, "allowed", passes(s, get("/"), 10, start), 3)
}

// TestNoWaitingHelps: a request that costs more than one of its limits ever admits, whatever the
// others say.
func TestNoWaitingHelps(t *testing.T) {
	everybody := []config.KeyPart{{Kind: config.KeyConst, Name: "all"}}
	zone := func(name string) config.Zone {
		quota := config.Quota{Count: 5, Per: time.Minute, Text: "5r/m"}
		return config.Zone{Name: name, Key: everybody, Algorithm: config.Window, Quota: quota}
	}
	for _, order := range [][]config.Use{{{Zone: 0}, {Zone: 1, Cost: 6}}, {{Zone: 1, Cost: 6}, {Zone: 0}}} {
		s, err := ruleset.New(config.HTTP{
			Zones: []config.Zone{zone("full"), zone("small")},
			Rules: []config.Rule{
				{Match: config.Match{Path: config.Pattern{Exact: "/fill"}}, Limits: []config.Use{{Zone: 0, Cost: 5}}},
				{Limits: order},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "fill", passes(s, get("/fill"), 2, start), 1)
		d := s.Decide(get("/"), start)
		equal(t, "allowed", d.Allowed, false)
		equal(t, "retry after", d.RetryAfter, limit.Never)
		equal(t, "zone", d.Zone, []string{"full", "small"}[order[0].Zone])
	}
}

// TestEqualDelays: the first limit is named.
func TestEqualDelays(t *testing.T) {
	for dryRun, rule := range map[bool]string{false: "{", true: "{dry_run: true, "} {
		s := newSet(t, `
http:
  zones:
    a: {key: ip, rate: 1r/s}
    b: {key: ip, rate: 1r/s}
  rules:
    - `+rule+`limits: [{zone: a, burst: 1}, {zone: b, burst: 1}]}
`)
		for i := range 3 {
			d := s.Decide(get("/"), start)
			equal(t, "zone", d.Zone, []string{"", "a", "a"}[i])
			equal(t, "dry run", d.DryRun, dryRun && i > 0)
		}
	}
}

// TestDryRunsAreApart: what one rule would refuse is charged by the other.
func TestDryRunsAreApart(t *testing.T) {
	s := newSet(t, `
http:
  zones:
    few:  {key: ip, rate: 1r/h}
    many: {key: ip, rate: 1r/h}
  rules:
    - {dry_run: true, continue: true, limits: [{zone: few}]}
    - {dry_run: true, continue: true, limits: [{zone: many, burst: 2, nodelay: true}]}
    - {continue: true, match: {path: "/none"}, limits: []}
`)
	equal(t, "explained", s.Explain(get("/"), start).DryRun, false)
	equal(t, "allowed", passes(s, get("/"), 5, start), 5)
	equal(t, "explained", s.Explain(get("/"), start).DryRun, true)
	equal(t, "few", ruleCounts(t, s, "rule 1"), ruleset.Counts{Allowed: 1, WouldRefuse: 4})
	equal(t, "many", ruleCounts(t, s, "rule 2"), ruleset.Counts{Allowed: 3, WouldRefuse: 2})
}

// TestDryRunChargesAllOrNone: as an enforced rule does.
func TestDryRunChargesAllOrNone(t *testing.T) {
	s := newSet(t, `
http:
  zones:
    few:  {key: ip, rate: 1r/h}
    many: {key: ip, rate: 1r/h}
  rules:
    - {dry_run: true, limits: [{zone: many, burst: 2, nodelay: true}, {zone: few}]}
`)
	equal(t, "allowed", passes(s, get("/"), 5, start), 5)
	equal(t, "few", zoneCounts(t, s, "few"), ruleset.Counts{Allowed: 1, WouldRefuse: 4})
	equal(t, "many", zoneCounts(t, s, "many"), ruleset.Counts{Allowed: 1, Spared: 4})
	equal(t, "left of many", s.Explain(get("/"), start).Limits[0].Result.Remaining, 1)
}

// TestKeyedCounters: each algorithm's are those of the zone.
func TestKeyedCounters(t *testing.T) {
	for _, zone := range []string{
		"rate: 1r/h", "rate: 1r/m, algorithm: nginx", "rate: 1r/h, algorithm: window", "rate: 1r/h, algorithm: sliding",
		"rate: 1r/h, algorithm: sketch", "concurrent: 1",
	} {
		s := newSet(t, "http: {zones: {z: {key: ip, "+zone+"}}, rules: [{limits: [{zone: z}]}]}")
		for range 3 {
			s.Decide(get("/"), start) // and it goes on
		}
		c := s.Counters().Zones[0].Keyed
		equal(t, zone+": allowed", c.Allowed, 1)
		equal(t, zone+": refused", c.Refused, 2)
	}
}

// TestCountsOfRulesThatAskNothing: they are counted as the request went.
func TestCountsOfRulesThatAskNothing(t *testing.T) {
	s := newSet(t, `
http:
  zones:
    unused: {key: ip, rate: 1r/h}
    few:    {key: ip, rate: 1r/h}
    plan:   {key: "header:plan", rate: 1r/h}
  rules:
    - {continue: true, limits: [{zone: plan}]}
    - {limits: [{zone: few}]}
`)
	equal(t, "allowed", passes(s, get("/"), 3, start), 1)
	equal(t, "rule", ruleCounts(t, s, "rule 1"), ruleset.Counts{Allowed: 1, Spared: 2, Absent: 3})
	equal(t, "keys", s.Counters().Zones[1].Keyed.Keys, 1)
	equal(t, "of a zone that no rule uses", s.Counters().Zones[0], ruleset.ZoneCounters{Zone: "unused"})
}

// TestTextsOfGoPrograms: hosts and paths need not be written in the form in which they are compared.
func TestTextsOfGoPrograms(t *testing.T) {
	s, err := ruleset.New(config.HTTP{
		Zones: []config.Zone{{
			Name: "z", Key: []config.KeyPart{{Kind: config.KeyHost}, {Kind: config.KeyPath}},
			Quota: config.Quota{Count: 1, Per: time.Hour, Text: "1r/h"},
			Allow: []config.Value{{{Text: "API.example.com:80"}, {Text: "//a/../b"}}},
		}},
		Rules: []config.Rule{
			{Match: config.Match{Host: config.Pattern{Exact: "API.Example.com"}, Path: config.Pattern{Exact: "/./b"}}, Limits: []config.Use{{}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := get("/b")
	r.Host = "api.example.com"
	equal(t, "exempt", len(s.Decide(r, start).Skipped), 1)
	for _, host := range []config.Pattern{{Prefix: "API."}, {Suffix: ".Example.COM"}} {
		s, err := ruleset.New(config.HTTP{
			Zones: []config.Zone{{Name: "z", Key: []config.KeyPart{{Kind: config.KeyHost}}, Quota: config.Quota{Count: 1, Per: time.Hour}}},
			Rules: []config.Rule{{Match: config.Match{Host: host}, Limits: []config.Use{{}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, host.Prefix+host.Suffix, len(s.Decide(r, start).Limits), 1)
	}
}
