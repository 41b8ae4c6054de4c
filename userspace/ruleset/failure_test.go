package ruleset_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/ruleset"
	"github.com/headgate/headgate/userspace/shared"
)

// failing has one rule with a limit in the store.
func failing(rule string) string {
	return `
http:
  zones: {z: {key: ip, rate: 60r/h, algorithm: window, store: redis}, mine: {key: ip, rate: 50r/h, algorithm: window}}
  rules: [{name: r, limits: [{zone: z}]` + rule + "}]"
}

// TestCase15WhatEachRuleDoesWithoutTheStore: nothing is an error, and each rule says what its limits do. Also cases 19 and 62.
func TestCase15WhatEachRuleDoesWithoutTheStore(t *testing.T) {
	for _, c := range []struct {
		rule    string
		allowed int
		way     ruleset.Way
		status  int // of what is refused
		counts  ruleset.Counts
		shared  ruleset.SharedCounts
	}{
		{"", 20, ruleset.Local, 429, ruleset.Counts{Allowed: 20, Refused: 80}, ruleset.SharedCounts{Local: 100}},
		{", on_store_failure: local, status: 503", 20, ruleset.Local, 503, ruleset.Counts{Allowed: 20, Refused: 80}, ruleset.SharedCounts{Local: 100}},
		{", on_store_failure: open", 100, ruleset.Open, 0, ruleset.Counts{Allowed: 100}, ruleset.SharedCounts{Open: 100}},
		{", on_store_failure: closed", 0, ruleset.Closed, 503, ruleset.Counts{Unavailable: 100}, ruleset.SharedCounts{Closed: 100}},
		{", on_store_failure: closed, status: 429", 0, ruleset.Closed, 429, ruleset.Counts{Unavailable: 100}, ruleset.SharedCounts{Closed: 100}},
		{", dry_run: true", 100, ruleset.Local, 0, ruleset.Counts{Allowed: 20, WouldRefuse: 80}, ruleset.SharedCounts{Local: 100}},
		{", dry_run: true, on_store_failure: open", 100, ruleset.Open, 0, ruleset.Counts{Allowed: 100}, ruleset.SharedCounts{Open: 100}},
		{", dry_run: true, on_store_failure: closed", 100, ruleset.Closed, 0, ruleset.Counts{WouldRefuse: 100}, ruleset.SharedCounts{Closed: 100}},
	} {
		store := newFakeStore(t)
		store.set(true)
		l := machine(t, failing(c.rule), store, 3)
		allowed := 0
		for range 100 {
			d := l.Decide(get("/"), start)
			equal(t, c.rule+": way", d.Store, c.way)
			equal(t, c.rule+": way of the limit", d.Limits[0].Store, c.way)
			if d.Allowed {
				allowed++
			} else {
				equal(t, c.rule+": status", d.Status, c.status)
				equal(t, c.rule+": unavailable", d.Unavailable, c.way == ruleset.Closed)
				equal(t, c.rule+": rule and zone", d.Rule+d.Zone, "rz")
				if c.way == ruleset.Closed {
					equal(t, c.rule+": retry after", d.RetryAfter, time.Second)
				}
			}
			d.Free(start)
		}
		equal(t, c.rule+": allowed", allowed, c.allowed)
		counters := l.Counters()
		equal(t, c.rule+": counts of the rule", counters.Rules[0].Counts, c.counts)
		equal(t, c.rule+": counts of the zone", counters.Zones[0].Counts, c.counts)
		equal(t, c.rule+": by way", *counters.Zones[0].Shared, c.shared)
		equal(t, c.rule+": calls", store.counts.takes, 100)

		store.set(false)
		want := 60
		if strings.Contains(c.rule, "dry_run") {
			want = 100
		}
		equal(t, c.rule+": allowed when it is back", passes(l, get("/"), 100, start), want)
	}
}

// TestSeveralRulesWithoutTheStore: each rule's limits do what it says, and the request is charged to all or none of those that
// are asked here.
func TestSeveralRulesWithoutTheStore(t *testing.T) {
	for _, c := range []struct {
		first, second, third string // what rules with zones a, b and c, which is in memory, say
		allowed              int
		a, b, c              uint64 // charged here
		zone                 string // that refuses in the end
		unavailable          bool
	}{
		{"", "", "", 20, 20, 20, 20, "a", false}, // 60, 90 by three machines, and 40
		{"on_store_failure: open", "", "", 30, 0, 30, 30, "b", false},
		{"on_store_failure: open", "on_store_failure: open", "", 40, 0, 0, 40, "c", false},
		{"on_store_failure: closed", "", "", 0, 0, 0, 0, "a", true},
		{"", "on_store_failure: closed", "", 0, 0, 0, 0, "b", true},
		{"on_store_failure: closed", "on_store_failure: open", "", 0, 0, 0, 0, "a", true},
		{"dry_run: true", "", "", 30, 20, 30, 30, "b", false},
		{"", "dry_run: true, on_store_failure: closed", "", 20, 20, 0, 20, "a", false},
		{"dry_run: true", "dry_run: true", "", 40, 20, 30, 40, "c", false},
		{"", "dry_run: true, on_store_failure: open", "", 20, 20, 0, 20, "a", false},
		{"", "", "dry_run: true", 20, 20, 20, 20, "a", false},
		{"on_store_failure: closed, dry_run: true", "on_store_failure: closed, dry_run: true", "", 40, 0, 0, 40, "c", false},
	} {
		store := newFakeStore(t)
		store.set(true)
		l := machine(t, fmt.Sprintf(`
http:
  zones:
    a: {key: ip, rate: 60r/h, algorithm: window, store: redis}
    b: {key: ip, rate: 90r/h, algorithm: sliding, store: redis}
    c: {key: ip, rate: 40r/h, algorithm: window}
  rules:
    - {continue: true, limits: [{zone: a}], %s}
    - {continue: true, limits: [{zone: b}], %s}
    - {limits: [{zone: c}], %s}
`, c.first, c.second, c.third), store, 3)
		what := c.first + " | " + c.second + " | " + c.third + ": "
		equal(t, what+"allowed", passes(l, get("/"), 100, start), c.allowed)
		d := l.Decide(get("/"), start)
		equal(t, what+"allowed in the end", d.Allowed, false)
		equal(t, what+"zone", d.Zone, c.zone)
		equal(t, what+"unavailable", d.Unavailable, c.unavailable)
		equal(t, what+"charged to a", owed(t, l, "a"), c.a)
		equal(t, what+"charged to b", owed(t, l, "b"), c.b)
		equal(t, what+"charged to c", owed(t, l, "c"), c.c)
	}
}

// TestRefusedBesideClosed: who is refused by a limit that was asked too is refused for that.
func TestRefusedBesideClosed(t *testing.T) {
	store := newFakeStore(t)
	store.set(true)
	l := machine(t, `
http:
  zones:
    a: {key: ip, rate: 60r/h, algorithm: window, store: redis}
    b: {key: ip, rate: 1r/h, algorithm: window, store: redis}
  rules:
    - {match: {path: /b}, limits: [{zone: b}]}
    - {continue: true, limits: [{zone: a}], on_store_failure: closed}
    - {limits: [{zone: b}]}
`, store, 1)
	d := l.Decide(get("/"), start)
	equal(t, "unavailable", d.Unavailable, true)
	equal(t, "text", d.String(), `refused with 503 by zone a of rule 2, excess 0.000, retry after 1s; client 192.0.2.1 (peer)
  rule 2, zone a, key 192.0.2.1: refused, as the store does not answer
  rule 3, zone b, key 192.0.2.1: allowed, 1 of 1 remain of this machine's part, as the store does not answer
`)
	decide(l, get("/b"))
	d = l.Decide(get("/"), start)
	equal(t, "unavailable", d.Unavailable, false)
	equal(t, "zone", d.Zone, "b")
	equal(t, "status", d.Status, 429)
	equal(t, "retry after", d.RetryAfter, time.Hour)
	equal(t, "way", d.Store, ruleset.Closed)
}

// TestPartsAreKept: what a machine has admitted by itself is not forgotten when the store is back for a while, nor by a reload.
func TestPartsAreKept(t *testing.T) {
	store := newFakeStore(t)
	l := machine(t, failing(""), store, 3)
	down := func(n int) int {
		store.set(true)
		defer store.set(false)
		return passes(l, get("/"), n, start)
	}
	equal(t, "at first", down(15), 15)
	equal(t, "by the store", passes(l, get("/"), 1, start), 1)
	equal(t, "once more", down(100), 5)
	if err := l.Replace(sharing(t, failing("")), ruleset.Fleet{Store: store, Members: 2}, start); err != nil {
		t.Fatal(err)
	}
	equal(t, "with fewer machines", down(100), 10)
	if err := l.Replace(sharing(t, failing("")), ruleset.Fleet{Store: store, Members: 6}, start); err != nil {
		t.Fatal(err)
	}
	equal(t, "with more machines", down(100), 0)
	equal(t, "with more machines, later", func() int {
		store.set(true)
		return passes(l, get("/"), 100, start+time.Hour)
	}(), 10)
}

// TestPlacesHere: places that were taken in memory are freed there, also when the store is back, and those in the store there.
func TestPlacesHere(t *testing.T) {
	store := newFakeStore(t)
	l := machine(t, `
http:
  zones: {z: {key: ip, concurrent: 7, store: redis}}
  rules: [{limits: [{zone: z}]}]
`, store, 3)
	first := l.Decide(get("/"), start)
	store.set(true)
	var held []*ruleset.Decision
	for range 3 {
		held = append(held, l.Decide(get("/"), start))
	}
	equal(t, "allowed", held[1].Allowed && !held[2].Allowed, true)
	equal(t, "holds", held[0].Limits[0].Window, 0)
	first.Release(start) // the store cannot be told of what it does not hear, but that is its own affair
	store.set(false)
	for _, d := range held {
		d.Release(start)
		d.Release(start)
	}
	equal(t, "in the store", store.of("z"), 0)
	store.set(true)
	equal(t, "in memory", owed(t, l, "z"), 0)
}

// TestAllOrNoneWithoutTheStore: 64 requests at a time, while the store comes and goes: what is charged here is charged to all limits
// here or to none, and no more pass than both have.
func TestAllOrNoneWithoutTheStore(t *testing.T) {
	store := newFakeStore(t)
	store.set(true)
	l := machine(t, `
http:
  zones:
    a: {key: ip, rate: 90r/h, algorithm: window, store: redis}
    b: {key: ip, rate: 40r/h, algorithm: window}
    c: {key: ip, rate: 150r/h, algorithm: window, store: redis}
  rules: [{limits: [{zone: a}, {zone: b}, {zone: c}]}]
`, store, 3)
	var allowed, byStore atomic.Int64
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for range 20 {
				d := l.Decide(get("/"), start)
				if d.Allowed {
					allowed.Add(1)
					if d.Store == ruleset.Redis {
						byStore.Add(1)
					}
				}
				d.Free(start)
				if i == 0 {
					store.set(store.of("a")%2 == 0)
				}
			}
		})
	}
	all.Wait()
	store.set(true)
	n, there := uint64(allowed.Load()), uint64(byStore.Load())
	equal(t, "charged to a there", store.of("a"), there)
	equal(t, "charged to c there", store.of("c"), there)
	equal(t, "charged to a here", owed(t, l, "a"), n-there)
	equal(t, "charged to b here", owed(t, l, "b"), n)
	equal(t, "charged to c here", owed(t, l, "c"), n-there)
	if n > 40 || n-there > 30 || there > 90 {
		t.Errorf("%d passed, %d of them by the store", n, there)
	}
}

// TestCase61FailureIsAskedOnce: a request waits for the store once, also if the rules are replaced meanwhile.
func TestCase61FailureIsAskedOnce(t *testing.T) {
	store := newFakeStore(t)
	store.set(true)
	fleet := ruleset.Fleet{Store: store, Members: 2}
	l := machine(t, failing(""), store, 2)
	store.during = func() {
		if err := l.Replace(sharing(t, failing(", status: 503")), fleet, start); err != nil {
			t.Error(err)
		}
	}
	equal(t, "allowed", passes(l, get("/"), 1, start), 1)
	equal(t, "calls", store.counts.takes, 1)
	equal(t, "charged", owed(t, l, "z"), 1)
	equal(t, "requests", l.Counters().Requests, 1)
}

// TestNothingIsTooLargeForAPart: what may pass at all may pass here too, one at a time, however many machines there are.
func TestNothingIsTooLargeForAPart(t *testing.T) {
	store := newFakeStore(t)
	store.set(true)
	l := machine(t, `
http:
  zones:
    a: {key: ip, rate: 10r/h, store: redis}
    b: {key: ip, rate: 10r/h, algorithm: window, store: redis}
    c: {key: ip, concurrent: 10, store: redis}
    d: {key: ip, rate: 1r/h, store: redis}
  rules: [{limits: [{zone: a, burst: 9, nodelay: true, cost: 5}, {zone: b, cost: 4}, {zone: c, cost: 3}, {zone: d, burst: 3}]}]
`, store, 1000)
	d := l.Decide(get("/"), start)
	equal(t, "the first", d.Allowed && d.Delay == 0, true)
	d.Free(start)
	d = l.Decide(get("/"), start)
	equal(t, "the second", d.Allowed, false)
	for i, want := range []uint64{5, 4, 3, 1} {
		equal(t, "limit of "+d.Limits[i].Zone, d.Limits[i].Result.Limit, want)
		equal(t, "no waiting helps", d.Limits[i].Result.RetryAfter == limit.Never, false)
	}
	equal(t, "after five hours", passes(l, get("/"), 3, start+5*time.Hour), 1)
}

// slowStore does not answer, and reads what it was asked later.
type slowStore struct {
	shared.Store
	asked   []string
	charges [][]shared.Charge
}

func (s *slowStore) Take(tag string, charges []shared.Charge, _ time.Duration) (bool, error) {
	s.asked = append(s.asked, tag, charges[0].Key)
	s.charges = append(s.charges, charges)
	return false, errDown
}

// TestWhatASlowStoreReads: what a store was asked that did not answer in time stays as it was, though others use the decision's memory.
func TestWhatASlowStoreReads(t *testing.T) {
	store := new(slowStore)
	l := machine(t, `http: {zones: {z: {key: [ip, path], rate: 1r/s, store: redis}, y: {key: ip, rate: 1r/s, store: redis}}, rules: [{limits: [{zone: z}, {zone: y}]}]}`, store, 1)
	for n := range 50 {
		decide(l, client(n+1, fmt.Sprint("/path/", n)))
	}
	for n := range 50 {
		if got, want := clientip.Describe(store.asked[2*n+1]), fmt.Sprintf("192.0.2.%d, /path/%d", n+1, n); got != want {
			t.Fatalf("the key is %q by now, and was %q", got, want)
		}
		if got := store.charges[n]; got[0].Key != store.asked[2*n+1] || got[1].Zone != "y" {
			t.Fatalf("the charges of request %d are %+v by now", n, got)
		}
	}
}

// TestTriedOutWithoutTheStore: a rule with dry_run that a limit in memory refuses asks none of its others, whoever decides about them.
func TestTriedOutWithoutTheStore(t *testing.T) {
	for _, mode := range []string{"local", "open"} {
		store := newFakeStore(t)
		store.set(true)
		l := machine(t, `
http:
  zones:
    mine: {key: ip, rate: 1r/h, algorithm: window}
    z: {key: ip, rate: 60r/h, algorithm: window, store: redis}
    y: {key: ip, rate: 60r/h, algorithm: window, store: redis}
  rules:
    - {dry_run: true, continue: true, limits: [{zone: mine}, {zone: z}], on_store_failure: `+mode+`}
    - {limits: [{zone: y}]}
`, store, 1)
		decide(l, get("/"))
		d := l.Decide(get("/"), start)
		equal(t, mode+": allowed", d.Allowed, true)
		equal(t, mode+": refused by mine", d.Limits[0].Result.Allowed, false)
		equal(t, mode+": way of z", d.Limits[1].Store, ruleset.NotAsked)
		equal(t, mode+": unknown", d.Limits[1].Unknown, true)
		equal(t, mode+": way of y", d.Limits[2].Store, ruleset.Local)
	}
}

// TestTriedOutAndClosed: a rule with dry_run whose limits are closed would refuse, so that its limits in memory are not charged either.
func TestTriedOutAndClosed(t *testing.T) {
	store := newFakeStore(t)
	store.set(true)
	l := machine(t, `
http:
  zones:
    mine: {key: ip, rate: 9r/h, algorithm: window}
    z: {key: ip, rate: 60r/h, algorithm: window, store: redis}
  rules: [{dry_run: true, limits: [{zone: mine}, {zone: z}], on_store_failure: closed}]
`, store, 1)
	d := l.Decide(get("/"), start)
	equal(t, "allowed", d.Allowed, true)
	equal(t, "by a dry run only", d.DryRun, true)
	equal(t, "way", d.Store, ruleset.Closed)
	equal(t, "unavailable", d.Unavailable, false)
	equal(t, "charged to mine", owed(t, l, "mine"), 0)
}

// placingStore gives places, and keeps their tags.
type placingStore struct {
	nothingStore
	tags []string
}

func (s *placingStore) Take(tag string, charges []shared.Charge, spent time.Duration) (bool, error) {
	s.tags = append(s.tags, tag)
	return s.nothingStore.Take(tag, charges, spent)
}

// TestTagsOfPlaces: a store can renew places by the tag that it was given, though others use the decision's memory.
func TestTagsOfPlaces(t *testing.T) {
	store := new(placingStore)
	l := machine(t, `http: {zones: {z: {key: [ip, path], concurrent: 5, store: redis}}, rules: [{limits: [{zone: z}]}]}`, store, 1)
	for n := range 50 {
		decide(l, client(n+1, fmt.Sprint("/path/", n)))
	}
	for n := range 50 {
		if got, want := clientip.Describe(store.tags[n]), fmt.Sprintf("192.0.2.%d, /path/%d", n+1, n); got != want {
			t.Fatalf("the tag is %q by now, and was %q", got, want)
		}
	}
}
