package ruleset_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
)

// TestCase29ExactlyTheLimitOverMachines: 64 requests at a time of one client, over three machines: exactly the limit passes.
func TestCase29ExactlyTheLimitOverMachines(t *testing.T) {
	for limit, want := range map[string]int{
		"rate: 1r/h}}\n  rules: [{limits: [{zone: z, burst: 99}]}]":            100,
		"rate: 100r/h, algorithm: window}}\n  rules: [{limits: [{zone: z}]}]":  100,
		"rate: 100r/h, algorithm: sliding}}\n  rules: [{limits: [{zone: z}]}]": 100,
	} {
		store := newFakeStore(t)
		var machines []*ruleset.Live
		for range 3 {
			machines = append(machines, machine(t, "http:\n  zones: {z: {key: ip, store: redis, "+limit, store, 3))
		}
		var allowed atomic.Int64
		var all sync.WaitGroup
		for i := range 64 {
			all.Go(func() {
				for range 10 {
					if ok, _ := decide(machines[i%3], get("/")); ok {
						allowed.Add(1)
					}
				}
			})
		}
		all.Wait()
		equal(t, limit, int(allowed.Load()), want)
		equal(t, "charged", store.of("z"), uint64(want))
	}
}

const mixed = `
http:
  zones:
    first:  {key: ip, rate: 100r/h, algorithm: window, store: redis}
    mine:   {key: ip, rate: 60r/h, algorithm: window}
    second: {key: [ip, path], rate: 80r/h, algorithm: window, store: redis}
  rules:
    - {limits: [{zone: first}, {zone: mine}], continue: true}
    - {limits: [{zone: second}]}
`

// TestCase20AllOrNoneOverMachines: two limits in the store and one in memory, 64 requests at a time: what one refuses is charged to none.
// Also cases 10 and 11.
func TestCase20AllOrNoneOverMachines(t *testing.T) {
	store := newFakeStore(t)
	l := machine(t, mixed, store, 1)
	var allowed atomic.Int64
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for range 10 {
				if ok, _ := decide(l, get("/")); ok {
					allowed.Add(1)
				}
			}
		})
	}
	all.Wait()
	equal(t, "allowed", allowed.Load(), 60)
	for _, zone := range []string{"first", "second"} {
		equal(t, "charged to "+zone, store.of(zone), 60)
	}
	states, err := l.Peek("mine", []string{"192.0.2.1"}, start)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "charged in memory", states[0].Owed, 60_000)
}

// TestOneCall: all limits of a request, of several rules and with a dry run, are asked in one call; those in memory in none.
func TestOneCall(t *testing.T) {
	store := newFakeStore(t)
	l := machine(t, `
http:
  zones:
    a: {key: ip, rate: 1r/h, store: redis}
    b: {key: ip, rate: 1r/h, store: redis}
    c: {key: ip, concurrent: 5, store: redis}
    d: {key: ip, rate: 100r/h, algorithm: window}
  rules:
    - {limits: [{zone: a, burst: 9}, {zone: d}], continue: true}
    - {limits: [{zone: b, burst: 9}], dry_run: true, continue: true}
    - {limits: [{zone: a, burst: 9}, {zone: c}]}
`, store, 1)
	for range 5 {
		if ok, way := decide(l, get("/")); !ok || way != ruleset.Redis {
			t.Errorf("allowed %t by %v", ok, way)
		}
	}
	equal(t, "calls", store.counts.takes, 5)
	equal(t, "zones", fmt.Sprint(store.calls[0].zones), "[a b a c]")
	equal(t, "charged to a, once for both rules", store.of("a"), 5)
	equal(t, "charged to b", store.of("b"), 5)
	equal(t, "places that are still held", store.of("c"), 0)
}

// TestRefusedHere: what a limit in memory refuses asks nobody, and says nothing of the others.
func TestRefusedHere(t *testing.T) {
	store := newFakeStore(t)
	l := machine(t, mixed, store, 1)
	for range 60 {
		decide(l, get("/"))
	}
	before := store.counts
	d := l.Decide(get("/"), start)
	equal(t, "allowed", d.Allowed, false)
	equal(t, "way", d.Store, ruleset.NotAsked)
	equal(t, "zone", d.Zone, "mine")
	for i, unknown := range []bool{true, false, true} {
		equal(t, "unknown", d.Limits[i].Unknown, unknown)
		equal(t, "allowed by a limit", d.Limits[i].Result.Allowed, unknown)
	}
	equal(t, "calls", store.counts, before)
	c := l.Counters().Zones
	equal(t, "counted of first", *c[0].Shared, ruleset.SharedCounts{Redis: 60, RefusedLocally: 1})
	equal(t, "counted of mine", c[1].Shared, nil)
	equal(t, "spared by first", c[0].Spared, 1)
	equal(t, "refused by memory", c[1].Keyed.Refused, 1)
}

// TestRefusedMeanwhile: a limit in memory that allows, and no longer does when the store has charged its own, has the
// store give back. Also case 10.
func TestRefusedMeanwhile(t *testing.T) {
	store := newFakeStore(t)
	l := machine(t, `
http:
  zones:
    shared: {key: ip, rate: 100r/h, algorithm: window, store: redis}
    slots:  {key: ip, concurrent: 9, store: redis}
    mine:   {key: ip, rate: 1r/h, algorithm: window}
  rules:
    - {match: {path: /mine}, limits: [{zone: mine}]}
    - {limits: [{zone: shared}, {zone: slots}, {zone: mine}]}
`, store, 1)
	store.during = func() { decide(l, get("/mine")) }
	d := l.Decide(get("/"), start)
	equal(t, "allowed", d.Allowed, false)
	equal(t, "zone", d.Zone, "mine")
	equal(t, "unknown", d.Limits[0].Unknown && d.Limits[1].Unknown && !d.Limits[2].Unknown, true)
	equal(t, "charged to the shared one", store.of("shared"), 0)
	equal(t, "places", store.of("slots"), 0)
	d.Release(start)
	equal(t, "released again", store.counts.releases, 0)
	equal(t, "returned", store.counts.returns, 1)
}

// tried has a rule that is tried out beside one that is enforced, each with a limit in the store and one in memory.
func tried(enforced, tried, mine, triedMine int) string {
	return fmt.Sprintf(`
http:
  zones:
    a: {key: ip, rate: %dr/h, algorithm: window, store: redis}
    b: {key: ip, rate: %dr/h, algorithm: window, store: redis}
    c: {key: ip, rate: %dr/h, algorithm: window}
    d: {key: ip, rate: %dr/h, algorithm: window}
  rules:
    - {name: tried, dry_run: true, continue: true, limits: [{zone: b}, {zone: d}]}
    - {name: enforced, limits: [{zone: a}, {zone: c}]}
`, enforced, tried, mine, triedMine)
}

// TestCase26TriedOutOverMachines: a rule with dry_run is charged where the request passes and all of its own limits would let it,
// wherever these are, and refuses nothing.
func TestCase26TriedOutOverMachines(t *testing.T) {
	for _, c := range []struct{ enforced, tried, mine, triedMine int }{
		{9, 9, 9, 9}, {3, 9, 9, 9}, {9, 3, 9, 9}, {9, 9, 3, 9}, {9, 9, 9, 3}, {5, 3, 9, 9}, {5, 9, 9, 3}, {9, 3, 5, 9}, {9, 9, 5, 3}, {9, 2, 9, 3}, {1, 2, 3, 4},
	} {
		store := newFakeStore(t)
		l := machine(t, tried(c.enforced, c.tried, c.mine, c.triedMine), store, 1)
		passed := passes(l, get("/"), 9, start)
		want, wantTried := min(c.enforced, c.mine), min(c.enforced, c.mine, c.tried, c.triedMine)
		what := fmt.Sprint(c, ": ")
		equal(t, what+"allowed", passed, want)
		equal(t, what+"charged to a", store.of("a"), uint64(want))
		equal(t, what+"charged to b", store.of("b"), uint64(wantTried))
		equal(t, what+"charged to c", owed(t, l, "c"), uint64(want))
		equal(t, what+"charged to d", owed(t, l, "d"), uint64(wantTried))
		equal(t, what+"would refuse", l.Counters().Rules[0].WouldRefuse > 0, wantTried < want)
	}
}

// owed returns how many requests a zone in memory has counted of the client of get.
func owed(t *testing.T, l *ruleset.Live, zone string) uint64 {
	t.Helper()
	states, err := l.Peek(zone, []string{"192.0.2.1"}, start)
	if err != nil {
		t.Fatal(err)
	}
	return states[0].Owed / 1000
}

// TestTriedOutMeanwhile: what a rule with dry_run has charged in the store is given back, if its limit in memory refuses by then; what a
// rule that is enforced has charged for the same key stays.
func TestTriedOutMeanwhile(t *testing.T) {
	store := newFakeStore(t)
	l := machine(t, `
http:
  zones:
    a: {key: ip, rate: 9r/h, algorithm: window, store: redis}
    b: {key: ip, rate: 9r/h, algorithm: window, store: redis}
    d: {key: ip, rate: 1r/h, algorithm: window}
  rules:
    - {match: {path: /mine}, limits: [{zone: d}]}
    - {dry_run: true, continue: true, limits: [{zone: a}, {zone: b}, {zone: d}]}
    - {limits: [{zone: a}]}
`, store, 1)
	store.during = func() { decide(l, get("/mine")) }
	d := l.Decide(get("/"), start)
	equal(t, "allowed", d.Allowed, true)
	equal(t, "charged to a", store.of("a"), 1)
	equal(t, "charged to b", store.of("b"), 0)
}

// TestCase36EachMachineSeesWhatIsLeft: what is left and refused is of all machines together.
func TestCase36EachMachineSeesWhatIsLeft(t *testing.T) {
	store := newFakeStore(t)
	const file = `
http:
  zones: {z: {key: ip, rate: 60r/m, algorithm: window, store: redis}}
  rules: [{limits: [{zone: z}]}]
`
	one, other := machine(t, file, store, 2), machine(t, file, store, 2)
	equal(t, "of one", passes(one, get("/"), 40, start), 40)
	d := other.Decide(get("/"), start)
	equal(t, "left", d.Limits[0].Result.Remaining, 19)
	equal(t, "of", d.Limits[0].Result.Limit, 60)
	equal(t, "text", d.String(), "allowed; client 192.0.2.1 (peer)\n  rule 1, zone z, key 192.0.2.1: allowed, 19 of 60 remain over all machines\n")
	equal(t, "of the other", passes(other, get("/"), 40, start), 19)
}

// TestPlacesAreReleasedOnce, whoever calls Release and how often.
func TestPlacesAreReleasedOnce(t *testing.T) {
	store := newFakeStore(t)
	l := machine(t, `
http:
  zones:
    a: {key: ip, concurrent: 3, store: redis}
    b: {key: ip, concurrent: 4, store: redis}
    c: {key: ip, concurrent: 2, store: redis}
    d: {key: ip, rate: 1000r/h, algorithm: window, store: redis}
  rules:
    - {dry_run: true, continue: true, limits: [{zone: c}]}
    - {limits: [{zone: a}, {zone: d}, {zone: b}]}
`, store, 1)
	var held []*ruleset.Decision
	for range 5 {
		held = append(held, l.Decide(get("/"), start))
	}
	equal(t, "allowed", held[2].Allowed && !held[3].Allowed, true)
	equal(t, "places of a", store.of("a"), 3)
	equal(t, "places of b", store.of("b"), 3)
	equal(t, "places of c", store.of("c"), 2)
	var all sync.WaitGroup
	for _, d := range held {
		for range 4 {
			all.Go(func() { d.Release(start) })
		}
	}
	all.Wait()
	for _, d := range held {
		d.Free(start)
	}
	for _, zone := range []string{"a", "b", "c"} {
		equal(t, "places that are held of "+zone, store.of(zone), 0)
	}
	equal(t, "leases", len(store.leases), 0)
	equal(t, "charged to d", store.of("d"), 3)
	equal(t, "releases", store.counts.releases, 3)
	equal(t, "again", passes(l, get("/"), 5, start), 5)
}

// TestNonsense: a store whose answer contradicts itself has not answered.
func TestNonsense(t *testing.T) {
	store := newFakeStore(t)
	l := machine(t, `
http:
  zones: {z: {key: ip, rate: 4r/h, algorithm: window, store: redis}}
  rules: [{limits: [{zone: z}]}]
`, store, 2)
	store.lies = true
	for range 5 {
		if _, way := decide(l, get("/")); way != ruleset.Local {
			t.Errorf("decided by %v", way)
		}
	}
	equal(t, "allowed", l.Counters().Rules[0].Allowed, 2)
}

// TestLimitsThatAreAsked: the store is asked about the whole limit, as the rule uses the zone and as rates are scaled, and what a
// request costs.
func TestLimitsThatAreAsked(t *testing.T) {
	store := newFakeStore(t)
	h := sharing(t, `
http:
  zones:
    a: {key: ip, rate: 60r/m, store: redis, lease: 3, overrides: [{value: 192.0.2.2, rate: 7r/h}]}
    b: {key: ip, rate: 60r/m, store: redis, algorithm: window}
    c: {key: ip, concurrent: 50, store: redis}
  rules: [{limits: [{zone: a, burst: 20, delay: 8}, {zone: b}, {zone: c}]}]
`)
	l, err := ruleset.NewLive(h, ruleset.Fleet{Store: store, Members: 7})
	if err != nil {
		t.Fatal(err)
	}
	decide(l, client(1, "/"))
	decide(l, client(2, "/"))
	if err := l.Replace(ruleset.Scale(h, 0.5), ruleset.Fleet{Store: store, Members: 7}, start); err != nil {
		t.Fatal(err)
	}
	decide(l, client(1, "/"))
	var got []string
	for _, c := range store.calls {
		got = append(got, fmt.Sprint(c.limit))
	}
	want := []string{
		"[{leaky 60 1m0s 20 8} {window 60 1m0s 0 0} {concurrent 50 0s 0 0}]",
		"[{leaky 7 1h0m0s 20 8} {window 60 1m0s 0 0} {concurrent 50 0s 0 0}]",
		"[{leaky 30000 16h40m0s 20 8} {window 30 1m0s 0 0} {concurrent 50 0s 0 0}]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("asked\n%q, want\n%q", got, want)
	}
	equal(t, "leases", fmt.Sprint(store.calls[0].batch), "[3 0 0]")
}

// TestAloneKeepsWhatIsShared: without a store, zones of store redis are in memory, with all of their limits.
func TestAloneKeepsWhatIsShared(t *testing.T) {
	h := sharing(t, `
http:
  zones:
    a: {key: ip, rate: 1r/h, store: redis}
    b: {key: ip, concurrent: 50, store: redis}
  rules: [{limits: [{zone: a, burst: 9, nodelay: true}, {zone: b}], on_store_failure: closed}]
`)
	set, err := ruleset.New(h)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "allowed", passes(set, get("/"), 20, start), 10)
	d := set.Decide(get("/"), start)
	equal(t, "way", d.Store, ruleset.NotShared)
	equal(t, "known", d.Limits[0].Unknown, false)
}

// TestAlgorithmsOfMemory: a zone that only memory can count is not put in a store.
func TestAlgorithmsOfMemory(t *testing.T) {
	for _, algorithm := range []config.Algorithm{config.Nginx, config.Sketch} {
		h := sharing(t, "http: {zones: {z: {key: ip, rate: 1r/s, store: redis}}, rules: [{limits: [{zone: z}]}]}")
		h.Zones[0].Algorithm = algorithm
		if _, err := ruleset.New(h); err == nil {
			t.Errorf("%s: no error", algorithm)
		}
	}
}
