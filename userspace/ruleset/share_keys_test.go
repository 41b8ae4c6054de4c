package ruleset_test

import (
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
	"github.com/headgate/headgate/userspace/ruleset"
	"github.com/headgate/headgate/userspace/shared"
)

const looked = `
http:
  zones:
    a: {key: ip, rate: 60r/h, store: redis}
    b: {key: ip, rate: 10r/h, algorithm: window, store: redis}
  rules: [{limits: [{zone: a, burst: 9, nodelay: true}, {zone: b}], on_store_failure: %}]
`

// TestExplainLooksOnly: Explain tells what Decide would, by the store or without it, and charges nothing.
func TestExplainLooksOnly(t *testing.T) {
	for _, c := range []struct {
		mode    string
		allowed bool
		left    uint64 // of a
		way     ruleset.Way
	}{{"local", true, 4, ruleset.Local}, {"open", true, 0, ruleset.Open}, {"closed", false, 0, ruleset.Closed}} {
		store := newFakeStore(t)
		l := machine(t, strings.ReplaceAll(looked, "%", c.mode), store, 2)
		for range 3 {
			d := l.Explain(get("/"), start)
			equal(t, "allowed by the store", d.Allowed, true)
			equal(t, "left by the store", d.Limits[0].Result.Remaining, 9)
			equal(t, "way", d.Store, ruleset.Redis)
			d.Free(start)
		}
		store.set(true)
		for range 3 {
			d := l.Explain(get("/"), start)
			equal(t, c.mode+": allowed", d.Allowed, c.allowed)
			equal(t, c.mode+": unavailable", d.Unavailable, !c.allowed)
			equal(t, c.mode+": left", d.Limits[0].Result.Remaining, c.left)
			equal(t, c.mode+": way", d.Store, c.way)
			equal(t, c.mode+": unknown", d.Limits[0].Unknown, c.way != ruleset.Local)
			d.Free(start)
		}
		equal(t, "taken", store.counts.takes, 0)
		equal(t, "charged here", owed(t, l, "b"), 0)
		equal(t, "counted", l.Counters().Requests, 0)
	}
}

// TestExplainOfARefusal: what the store refuses is refused here too, and no limit here.
func TestExplainOfARefusal(t *testing.T) {
	store := newFakeStore(t)
	l := machine(t, strings.ReplaceAll(looked, "%", "local"), store, 1)
	equal(t, "allowed", passes(l, get("/"), 20, start), 10)
	d := l.Explain(get("/"), start)
	equal(t, "allowed", d.Allowed, false)
	equal(t, "unavailable", d.Unavailable, false)
	equal(t, "zone", d.Zone, "a")
	equal(t, "status", d.Status, 429)
}

// TestKeysByHand: Peek and Reset ask the store; without it, Peek tells what is known here and says so, and Reset is an error.
func TestKeysByHand(t *testing.T) {
	store := newFakeStore(t)
	l := machine(t, strings.ReplaceAll(looked, "%", "local"), store, 2)
	equal(t, "allowed", passes(l, get("/"), 4, start), 4)
	key := []string{"192.0.2.1"}
	s, err := l.Peek("a", key, start)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "owed", s[0].Owed, 4000)
	equal(t, "left", s[0].Result.Remaining, 6)
	equal(t, "way", s[0].Store, ruleset.Redis)
	equal(t, "zone", s[0].Result.Zone, "a")
	if _, err := l.Top("a", 10, start); err == nil || !strings.Contains(err.Error(), "in Redis") {
		t.Errorf("Top: %v", err)
	}

	store.set(true)
	s, err = l.Peek("a", key, start)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "owed here", s[0].Owed, 0)
	equal(t, "limit here", s[0].Result.Limit, 5)
	equal(t, "way", s[0].Store, ruleset.Local)
	decide(l, get("/"))
	if known, err := l.Reset("a", key); err == nil || !known {
		t.Errorf("Reset without the store: %t, %v; want an error, and that something was known here", known, err)
	}
	equal(t, "owed here", owed(t, l, "a"), 0)

	store.set(false)
	known, err := l.Reset("a", key)
	if !known || err != nil {
		t.Errorf("Reset: %t, %v", known, err)
	}
	equal(t, "charged to a", store.of("a"), 0)
	equal(t, "charged to b", store.of("b"), 4)
}

// storeOf is a store of a single key of a limit that has been asked for nothing but some units at the start.
type storeOf[S any, A limit.Algorithm[S]] struct {
	shared.Store
	algorithm A
	state     S
	now       time.Duration
}

func (s *storeOf[S, A]) Peek(_ string, charges []shared.Charge) error {
	state := s.state
	charges[0].Result = s.algorithm.Take(&state, charges[0].N, s.now)
	charges[0].Known = true
	return nil
}

// TestPeekIsWithoutARequest: what Peek tells of a key in the store is what it would tell if it were in memory, at any time.
func TestPeekIsWithoutARequest(t *testing.T) {
	leaky, err := limit.NewLeaky(rate.Rate{Count: 1, Per: time.Second, Unit: rate.Requests}, 4, 4)
	if err != nil {
		t.Fatal(err)
	}
	window, err := limit.NewWindow(5, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	peekBoth(t, "rate: 60r/m", "burst: 4, nodelay: true", leaky)
	peekBoth(t, "rate: 5r/m, algorithm: window", "", window)
}

// peekBoth compares what is told of a key in a store and of one in memory.
func peekBoth[S any, A limit.Algorithm[S]](t *testing.T, zone, use string, a A) {
	t.Helper()
	file := "http: {zones: {z: {key: ip, store: redis, " + zone + "}}, rules: [{limits: [{zone: z, " + use + "}]}]}"
	for taken := range 7 {
		store := &storeOf[S, A]{algorithm: a, state: a.Fresh(start)}
		there, here := machine(t, file, store, 1), machine(t, file, nil, 1)
		for range taken {
			a.Take(&store.state, 1, start)
			decide(here, get("/"))
		}
		for _, after := range []time.Duration{0, 1, 300 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second, time.Hour} {
			store.now = start + after
			got, err := there.Peek("z", []string{"192.0.2.1"}, store.now)
			if err != nil {
				t.Fatal(err)
			}
			want, err := here.Peek("z", []string{"192.0.2.1"}, store.now)
			if err != nil {
				t.Fatal(err)
			}
			want[0].Store = ruleset.Redis
			got[0].Result, want[0].Result = got[0].Result.WithUndo(0, 0), want[0].Result.WithUndo(0, 0)
			g, w := got[0], want[0]
			if g.Owed != w.Owed || g.ResetAfter != w.ResetAfter || g.Result != w.Result || g.Store != w.Store {
				t.Fatalf("%s: %d taken, after %v:\n%+v, want\n%+v", zone, taken, after, g, w)
			}
		}
	}
}
