package ruleset_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
)

// section returns the http section of a file.
func section(t testing.TB, file string) config.HTTP {
	t.Helper()
	f, err := config.Parse("headgate.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	return f.HTTP
}

func newLive(t testing.TB, file string) *ruleset.Live {
	t.Helper()
	l, err := ruleset.NewLive(section(t, file), alone)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func replace(t testing.TB, l *ruleset.Live, file string) {
	t.Helper()
	replaceAt(t, l, file, start)
}

func replaceAt(t testing.TB, l *ruleset.Live, file string, now time.Duration) {
	t.Helper()
	if err := l.Replace(section(t, file), alone, now); err != nil {
		t.Fatal(err)
	}
}

// zoned is a file with one zone, z, and one rule that uses it. The longer key is not kept as a text.
func zoned(zone, use string) string {
	key := "[ip, path]"
	if strings.Contains(zone, "concurrent") {
		key = "ip"
	}
	return fmt.Sprintf("http:\n  zones:\n    z: {key: %s, %s}\n  rules: [{name: r, limits: [{zone: z%s}]}]\n", key, zone, use)
}

const longPath = "/a/path/that/is/longer/than/a/key"

// How many pass at once after a change, and how many more a while later.
func TestReplaceCarriesOver(t *testing.T) {
	nodelay := func(burst int) string { return fmt.Sprintf(", burst: %d, nodelay: true", burst) }
	override := ", overrides: [{value: [192.0.2.0/24, " + longPath + "], rate: %s}]"
	for _, c := range []struct {
		name                   string
		was, wasUse, now, uses string
		first, then            int
		wait                   time.Duration
		later                  int
	}{
		{"nothing", "rate: 10r/s", nodelay(9), "rate: 10r/s", nodelay(9), 10, 0, time.Second, 10},
		{"slower", "rate: 10r/s", nodelay(9), "rate: 1r/s", nodelay(9), 10, 0, 2 * time.Second, 2},
		{"faster", "rate: 1r/h", nodelay(9), "rate: 10r/s", nodelay(9), 10, 0, 200 * time.Millisecond, 2},
		{"more burst", "rate: 1r/s", nodelay(4), "rate: 1r/s", nodelay(9), 5, 5, time.Second, 1},
		{"less burst", "rate: 1r/s", nodelay(999), "rate: 1r/s", nodelay(9), 1000, 0, 3 * time.Second, 3},
		{"finer ticks", "rate: 1r/s", nodelay(9), "rate: 99999989r/s", nodelay(9), 10, 0, time.Microsecond, 10},
		{"new override", "rate: 10r/s", nodelay(9), "rate: 10r/s" + fmt.Sprintf(override, "1r/s"), nodelay(9), 10, 0, 2 * time.Second, 2},
		{"no override", "rate: 1r/h" + fmt.Sprintf(override, "10r/s"), nodelay(9), "rate: 1r/s", nodelay(9), 10, 0, 2 * time.Second, 2},
		{"other override", "rate: 5r/s" + fmt.Sprintf(override, "1r/h"), nodelay(9), "rate: 7r/s" + fmt.Sprintf(override, "2r/s"), nodelay(9), 10, 0, time.Second, 2},
		{"max_keys", "rate: 1r/s", nodelay(9), "rate: 1r/s, max_keys: 1", nodelay(9), 10, 0, time.Second, 1},
		{"sketch", "algorithm: sketch, rate: 10r/s", nodelay(9), "algorithm: sketch, rate: 1r/s", nodelay(9), 10, 0, 2 * time.Second, 2},
		{"sketch override", "algorithm: sketch, rate: 10r/s", nodelay(9), "algorithm: sketch, rate: 10r/s" + fmt.Sprintf(override, "1r/s"), nodelay(9), 10, 0, 2 * time.Second, 2},
		{"sketch burst", "algorithm: sketch, rate: 1r/s", nodelay(999), "algorithm: sketch, rate: 1r/s", nodelay(9), 1000, 0, 3 * time.Second, 3},
		{"nginx", "algorithm: nginx, rate: 10r/s", nodelay(9), "algorithm: nginx, rate: 1r/s", nodelay(9), 10, 0, 2 * time.Second, 2},
		{"nginx burst", "algorithm: nginx, rate: 1r/s", nodelay(19), "algorithm: nginx, rate: 1r/s", nodelay(9), 20, 0, 11 * time.Second, 1},
		{"window", "algorithm: window, rate: 10r/s", "", "algorithm: window, rate: 12r/s", "", 10, 2, time.Second, 12},
		{"other window", "algorithm: window, rate: 10r/s", "", "algorithm: window, rate: 12r/m", "", 10, 12, time.Second, 0},
		{"sliding", "algorithm: sliding, rate: 1000r/m", "", "algorithm: sliding, rate: 10r/m", "", 1000, 0, 119_700 * time.Millisecond, 5},
		{"other algorithm", "rate: 1r/s", nodelay(9), "algorithm: nginx, rate: 1r/s", nodelay(9), 10, 10, time.Second, 1},
		{"exempt", "rate: 1r/s", nodelay(9), "rate: 1r/s, allow: [[192.0.2.1, " + longPath + "]]", nodelay(9), 10, 2000, 0, 2000},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLive(t, zoned(c.was, c.wasUse))
			equal(t, "before", passes(l, get(longPath), 2000, start), c.first)
			replace(t, l, zoned(c.now, c.uses))
			equal(t, "at once", passes(l, get(longPath), 2000, start), c.then)
			equal(t, "later", passes(l, get(longPath), 2000, start+c.wait), c.later)
		})
	}
}

// Light keys of a sketch, which are in its first tier, are carried over too: half of a burst was used.
func TestReplaceCarriesLightKeys(t *testing.T) {
	const before, after = "algorithm: sketch, rate: 10r/s", "algorithm: sketch, rate: 1r/s"
	override := ", overrides: [{value: [192.0.2.1, " + longPath + "], rate: %s}]"
	for _, c := range []struct{ was, now string }{
		{before, after},
		{before, before + fmt.Sprintf(override, "1r/s")},
		{"algorithm: sketch, rate: 1r/h" + fmt.Sprintf(override, "10r/s"), after},
	} {
		l := newLive(t, zoned(c.was, ", burst: 9, nodelay: true"))
		equal(t, "before", passes(l, get(longPath), 4, start), 4)
		replace(t, l, zoned(c.now, ", burst: 9, nodelay: true"))
		equal(t, "at once", passes(l, get(longPath), 20, start), 6)
		equal(t, "later", passes(l, get(longPath), 20, start+2*time.Second), 2)
	}
}

// Whatever the rate is in between, and however often it changes, no key gets a second burst.
func TestReplaceManyTimes(t *testing.T) {
	for _, algorithm := range []string{"leaky", "sketch", "nginx"} {
		l := newLive(t, zoned("rate: 10r/s, algorithm: "+algorithm, ", burst: 9, nodelay: true"))
		passed := passes(l, get(longPath), 7, start)
		for i := range 1000 {
			replace(t, l, zoned(fmt.Sprintf("rate: %dr/s, algorithm: %s", 1+i%13, algorithm), ", burst: 9, nodelay: true"))
			if i == 500 {
				passed += passes(l, get(longPath), 2, start)
			}
		}
		equal(t, algorithm, passed+passes(l, get(longPath), 20, start), 10)
	}
}

// A zone that no rule uses for a while keeps its keys, and what their rates have become.
func TestReplaceOfAnUnusedZone(t *testing.T) {
	const override = ", overrides: [{value: 192.0.2.1, rate: 10r/s}]"
	file := func(rate, rules string) string {
		return "http:\n  zones:\n    z: {key: ip, rate: " + rate + override + "}\n    y: {key: ip, rate: 1r/s}\n  rules: [{limits: [{zone: " + rules + ", burst: 9, nodelay: true}]}]\n"
	}
	l := newLive(t, file("1r/h", "z"))
	equal(t, "before", passes(l, get("/"), 20, start), 10)
	replace(t, l, file("2r/h", "y"))
	replace(t, l, file("3r/h", "y"))
	equal(t, "another zone", passes(l, get("/"), 20, start), 10)
	replace(t, l, file("4r/h", "z"))
	equal(t, "again", passes(l, get("/"), 20, start), 0)
	equal(t, "later", passes(l, get("/"), 20, start+time.Second), 10)
	equal(t, "counted", liveZone(t, l).Keyed.Allowed, 20)
}

// Places that were given out before a change are given back once, wherever they are.
func TestReplaceUnderWay(t *testing.T) {
	l := newLive(t, zoned("concurrent: 3", ""))
	var held []*ruleset.Decision
	for range 3 {
		held = append(held, l.Decide(get("/"), start))
	}
	replace(t, l, zoned("concurrent: 5", ""))
	equal(t, "more places", passes(l, get("/"), 1, start), 1)
	held = append(held, l.Decide(get("/"), start), l.Decide(get("/"), start))
	replace(t, l, zoned("concurrent: 2", ""))
	equal(t, "fewer places", passes(l, get("/"), 1, start), 0)
	for _, d := range held[:4] {
		d.Release(start)
		d.Release(start)
	}
	equal(t, "one is left", peek(t, l, "192.0.2.1").Owed, 1000)
	equal(t, "a place is free", passes(l, get("/"), 1, start), 1)
	replace(t, l, "http:\n  zones:\n    z: {key: [ip, host], concurrent: 2}\n  rules: [{limits: [{zone: z}]}]\n")
	held[4].Release(start)
	equal(t, "another key", passes(l, get("/"), 2, start), 2)
}

func peek(t *testing.T, l *ruleset.Live, key ...string) ruleset.KeyState {
	t.Helper()
	states, err := l.Peek("z", key, start)
	if err != nil || len(states) != 1 {
		t.Fatalf("%+v, %v", states, err)
	}
	return states[0]
}

// What cannot be kept changes nothing, whichever part of it that is.
func TestReplaceIsWholeOrNothing(t *testing.T) {
	l := newLive(t, zoned("rate: 1r/s", ", burst: 9, nodelay: true"))
	equal(t, "before", passes(l, get("/"), 4, start), 4)
	was := l.Config()
	bad := section(t, zoned("rate: 100r/s, max_keys: 1", ", burst: 99, nodelay: true"))
	bad.Zones = append(bad.Zones, config.Zone{Name: "bad", Key: bad.Zones[0].Key})
	bad.Rules = append(bad.Rules, config.Rule{Limits: []config.Use{{Zone: 1}}})
	if err := l.Replace(bad, alone, start); err == nil || !strings.Contains(err.Error(), `zone "bad"`) {
		t.Errorf("error %v", err)
	}
	equal(t, "zones in force", len(l.Config().Zones), len(was.Zones))
	equal(t, "after", passes(l, get("/"), 20, start), 6)
	equal(t, "requests", l.Counters().Requests, 24)
}

// Numbers of rules and zones that have a name go on, through changes of all kinds, and come back with it.
func TestReplaceCountsOn(t *testing.T) {
	l := newLive(t, zoned("rate: 1r/s", ", burst: 9, nodelay: true"))
	passes(l, get("/"), 20, start)
	for i, file := range []string{
		zoned("rate: 1r/h", ""), zoned("algorithm: window, rate: 1r/h", ""), zoned("algorithm: window, rate: 1r/m", ""), zoned("concurrent: 1", ""),
		"http: {zones: {}, rules: []}", zoned("rate: 1r/h", ""),
	} {
		before := l.Counters()
		replace(t, l, file)
		equal(t, "requests", l.Counters().Requests, uint64(20+2*i))
		if len(before.Zones) > 0 && len(l.Counters().Zones) > 0 {
			after := l.Counters()
			before.Zones[0].Keyed.Keys, after.Zones[0].Keyed.Keys = 0, 0
			equal(t, fmt.Sprintf("zone after change %d", i), after.Zones[0], before.Zones[0])
			equal(t, fmt.Sprintf("rule after change %d", i), after.Rules[0], before.Rules[0])
		}
		passes(l, get("/"), 2, start)
	}
	got := liveZone(t, l)
	equal(t, "allowed", got.Allowed, 10+0+1+1+2+1)
	equal(t, "refused", got.Refused, 10+2+1+1+0+1)
	equal(t, "allowed by stores", got.Keyed.Allowed, got.Allowed)
	equal(t, "keys now", got.Keyed.Keys, 1)
}

// liveZone returns what the zone "z" counted.
func liveZone(t *testing.T, l *ruleset.Live) ruleset.ZoneCounters {
	t.Helper()
	for _, z := range l.Counters().Zones {
		if z.Zone == "z" {
			return z
		}
	}
	t.Fatal("no zone z")
	return ruleset.ZoneCounters{}
}

// A lower max_keys is reached as new keys come.
func TestReplaceMaxKeys(t *testing.T) {
	for _, algorithm := range []string{"leaky", "window", "sliding", "nginx"} {
		l := newLive(t, zoned("rate: 1r/m, algorithm: "+algorithm+", max_keys: 1000", ""))
		for i := range 1000 {
			l.Decide(from(fmt.Sprintf("10.0.%d.%d", i/250, i%250), "/"), start).Free(start)
		}
		replace(t, l, zoned("rate: 1r/m, algorithm: "+algorithm+", max_keys: 100", ""))
		for i := range 2000 {
			l.Decide(from(fmt.Sprintf("10.1.%d.%d", i/250, i%250), "/"), start).Free(start)
		}
		if keys := liveZone(t, l).Keyed.Keys; keys > 116 {
			t.Errorf("%s: %d keys", algorithm, keys)
		}
	}
}
