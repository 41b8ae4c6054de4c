package ruleset_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
)

// TestReplaceWhileTheStoreDecides: rules are replaced 500 times, with another number of machines each time, and the store comes and goes,
// while 16 requests at a time are decided: no more pass than the limits have, each request is charged to all or none, and counted once.
func TestReplaceWhileTheStoreDecides(t *testing.T) {
	const file = `
http:
  zones:
    a: {key: ip, rate: 300r/h, algorithm: window, store: redis}
    b: {key: ip, rate: 200r/h, algorithm: window}
    c: {key: ip, concurrent: 1000, store: redis}
  rules: [{name: %s, limits: [{zone: a}, {zone: b}, {zone: c}]}]
`
	files := []config.HTTP{sharing(t, fmt.Sprintf(file, "one")), sharing(t, fmt.Sprintf(file, "two"))}
	store := newFakeStore(t)
	l, err := ruleset.NewLive(files[0], ruleset.Fleet{Store: store, Members: 1})
	if err != nil {
		t.Fatal(err)
	}
	var allowed, byStore, requests atomic.Int64
	var done atomic.Bool
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for !done.Load() {
				d := l.Decide(get("/"), start)
				requests.Add(1)
				if d.Allowed {
					allowed.Add(1)
				}
				if d.Allowed && d.Store == ruleset.Redis {
					byStore.Add(1)
				}
				d.Free(start)
			}
		})
	}
	for i := range 500 {
		if err := l.Replace(files[i%2], ruleset.Fleet{Store: store, Members: 1 + i%3}, start); err != nil {
			t.Error(err)
		}
		store.set(i%5 == 0)
	}
	done.Store(true)
	all.Wait()
	store.set(false)
	equal(t, "charged to a there", store.of("a"), uint64(byStore.Load()))
	equal(t, "charged to b here", owed(t, l, "b"), uint64(allowed.Load()))
	equal(t, "places in the store", store.of("c"), 0)
	equal(t, "places that are leased", len(store.leases), 0)
	if n := allowed.Load(); n > 200 {
		t.Errorf("%d passed, want 200 at most", n)
	}
	equal(t, "requests", l.Counters().Requests, uint64(requests.Load()))
	store.set(true)
	equal(t, "charged to a here", owed(t, l, "a"), uint64(allowed.Load()-byStore.Load()))
	equal(t, "places here", owed(t, l, "c"), 0)
}

// TestReplacedMeanwhile: what the store has charged for rules that were replaced by then is given back, and the new rules are asked.
func TestReplacedMeanwhile(t *testing.T) {
	store := newFakeStore(t)
	fleet := ruleset.Fleet{Store: store, Members: 1}
	file := func(name string) config.HTTP {
		return sharing(t, `
http:
  zones: {a: {key: ip, rate: 9r/h, algorithm: window, store: redis}, b: {key: ip, rate: 9r/h, algorithm: window}}
  rules: [{name: `+name+`, limits: [{zone: a}, {zone: b}]}]
`)
	}
	l, err := ruleset.NewLive(file("old"), fleet)
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	store.during = func() {
		once.Do(func() {
			if err := l.Replace(file("new"), fleet, start); err != nil {
				t.Error(err)
			}
		})
	}
	d := l.Decide(get("/"), start)
	equal(t, "allowed", d.Allowed, true)
	equal(t, "rule", d.Limits[0].Rule, "new")
	equal(t, "charged to a", store.of("a"), 1)
	equal(t, "charged to b", owed(t, l, "b"), 1)
	equal(t, "returned", store.counts.returns, 1)
}

// TestAnotherStore: places are freed in the store that gave them, also when another has taken its place.
func TestAnotherStore(t *testing.T) {
	one, other := newFakeStore(t), newFakeStore(t)
	const file = "http: {zones: {z: {key: ip, concurrent: 3, store: redis}}, rules: [{limits: [{zone: z}]}]}"
	l := machine(t, file, one, 1)
	d := l.Decide(get("/"), start)
	if err := l.Replace(sharing(t, file), ruleset.Fleet{Store: other, Members: 1}, start); err != nil {
		t.Fatal(err)
	}
	after := l.Decide(get("/"), start)
	equal(t, "held", one.of("z")+other.of("z"), 2)
	d.Free(start)
	after.Free(start)
	equal(t, "held in one", one.of("z"), 0)
	equal(t, "held in the other", other.of("z"), 0)
}
