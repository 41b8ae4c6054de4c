package ruleset_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/ruleset"
)

// TestParts: while the store does not answer, a machine admits what there is by the number of machines, all of which together never
// admit more than the limit where that is possible.
func TestParts(t *testing.T) {
	for _, c := range []struct {
		zone, use string
		members   int
		atOnce    int
		inAnHour  int // of what is asked each second after the first
	}{
		{"rate: 60r/h", "burst: 59, nodelay: true", 0, 60, 59}, // one an hour is refused by the rounding of its last second
		{"rate: 60r/h", "burst: 59, nodelay: true", 1, 60, 59},
		{"rate: 60r/h", "burst: 59, nodelay: true", 3, 20, 19},
		{"rate: 60r/h", "burst: 59, nodelay: true", 7, 8, 8},
		{"rate: 60r/h", "burst: 59, nodelay: true", 1000, 1, 0},
		{"rate: 600r/h", "burst: 0", 3, 1, 199},
		{"rate: 600r/h", "burst: 1", 3, 1, 199},
		{"rate: 600r/h", "burst: 9, delay: 5", 3, 3, 199},
		{"rate: 60r/h, algorithm: window", "", 3, 20, 0},
		{"rate: 60r/h, algorithm: window", "", 7, 8, 0},
		{"rate: 60r/h, algorithm: window", "", 1000, 1, 0},
		{"rate: 60r/h, algorithm: sliding", "", 3, 20, 0},
		{"rate: 1r/h", "", 5, 1, 0},
		{"concurrent: 20", "", 3, 6, 0},
		{"concurrent: 2", "", 3, 1, 0},
	} {
		store := newFakeStore(t)
		store.set(true)
		l := machine(t, fmt.Sprintf("http: {zones: {z: {key: ip, store: redis, %s}}, rules: [{limits: [{zone: z, %s}]}]}", c.zone, c.use), store, c.members)
		what := fmt.Sprintf("%s %s, %d machines: ", c.zone, c.use, c.members)
		atOnce := 0
		for range 200 { // none of which ends
			if l.Decide(get("/"), start).Allowed {
				atOnce++
			}
		}
		equal(t, what+"at once", atOnce, c.atOnce)
		later := 0
		for second := range 3599 {
			if l.Decide(get("/"), start+time.Duration(second+1)*time.Second).Allowed {
				later++
			}
		}
		equal(t, what+"in an hour", later, c.inAnHour)
	}
}

// TestPartOfEachKey: overrides are divided too, each by itself, also if two become the same.
func TestPartOfEachKey(t *testing.T) {
	store := newFakeStore(t)
	store.set(true)
	l := machine(t, `
http:
  zones:
    z: {key: ip, rate: 30r/h, algorithm: window, store: redis, overrides: [{value: 192.0.2.2, rate: 12r/h}, {value: 192.0.2.3, rate: 13r/h}, {value: 192.0.2.4, rate: 10r/m}]}
  rules: [{limits: [{zone: z}]}]
`, store, 5)
	for n, want := range map[int]int{1: 6, 2: 2, 3: 2, 4: 2} {
		equal(t, fmt.Sprint("client ", n), passes(l, client(n, "/"), 20, start), want)
	}
	equal(t, "of a minute", passes(l, client(4, "/"), 20, start+time.Minute), 2)
	d := l.Decide(client(3, "/"), start)
	equal(t, "quota", d.Limits[0].Quota, "13r/h")
}

// TestPartAtTheRateOfAllMachines: all machines together do not admit more over an hour than the burst and the rate, and hardly less.
func TestPartAtTheRateOfAllMachines(t *testing.T) {
	for _, members := range []int{2, 3, 7, 11, 60, 600} {
		store := newFakeStore(t)
		store.set(true)
		l := machine(t, "http: {zones: {z: {key: ip, store: redis, rate: 10r/s}}, rules: [{limits: [{zone: z, burst: 1199, nodelay: true}]}]}", store, members)
		passed := 0
		for i := range 36_000 {
			passed += passes(l, get("/"), 1, start+time.Duration(i)*100*time.Millisecond)
		}
		const limit = 1200 + 36_000
		if all := members * passed; all > limit || all < limit*95/100 {
			t.Errorf("%d machines admit %d in an hour, want %d at most", members, all, limit)
		}
	}
}

// TestWays have a word each.
func TestWays(t *testing.T) {
	for way, want := range map[ruleset.Way]string{
		ruleset.NotShared: "", ruleset.NotAsked: "not asked", ruleset.Redis: "redis", ruleset.Local: "local", ruleset.Open: "open", ruleset.Closed: "closed",
	} {
		equal(t, "word", way.String(), want)
	}
}
