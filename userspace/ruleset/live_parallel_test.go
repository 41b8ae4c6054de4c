package ruleset_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
)

// pounded decides about requests of clients in parallel until do has returned, then 100 more for each client, and
// returns how many were allowed. It checks that each was decided by one configuration.
func pounded(t *testing.T, l *ruleset.Live, clients int, do func()) int {
	var allowed atomic.Int64
	var done atomic.Bool
	var all sync.WaitGroup
	request := func(client int) {
		d := l.Decide(from(fmt.Sprintf("192.0.2.%d", client), longPath), start)
		if d.Allowed {
			allowed.Add(1)
		}
		for _, a := range d.Limits {
			if a.Quota != d.Limits[0].Quota || a.Rule != d.Limits[0].Rule {
				t.Errorf("half of a configuration: %v", d)
			}
		}
		d.Free(start)
	}
	for range 4 {
		all.Go(func() {
			for i := 0; !done.Load(); i++ {
				request(i % clients)
			}
		})
	}
	do()
	done.Store(true)
	all.Wait()
	for client := range clients {
		for range 100 {
			request(client)
		}
	}
	return int(allowed.Load())
}

// TestReplaceUnderLoad: while rules are replaced 1,000 times, exactly as many requests of each client pass as one
// burst has, none is decided by half of a configuration, and each is counted once.
func TestReplaceUnderLoad(t *testing.T) {
	const clients, burst = 8, 20
	const nodelay = ", burst: 19, nodelay: true"
	for _, c := range []struct {
		algorithm, use string
		rates          []string
	}{
		{"leaky", nodelay, []string{"10r/s"}},
		{"leaky", nodelay, []string{"10r/s", "1r/h", "7r/m"}},
		{"sketch", nodelay, []string{"10r/s", "3r/s"}},
		{"nginx", nodelay, []string{"10r/s", "3r/m"}},
		{"window", "", []string{"20r/m"}},
		{"sliding", "", []string{"20r/m"}},
	} {
		t.Run(fmt.Sprint(c.algorithm, c.rates), func(t *testing.T) {
			files := make([]config.HTTP, len(c.rates))
			for i, rate := range c.rates {
				files[i] = section(t, file(c.algorithm, rate, c.use))
			}
			l, err := ruleset.NewLive(files[0], alone)
			if err != nil {
				t.Fatal(err)
			}
			allowed := pounded(t, l, clients, func() {
				for i := range 1000 {
					if err := l.Replace(files[i%len(files)], alone, start); err != nil {
						t.Error(err)
					}
				}
			})
			equal(t, "allowed", allowed, clients*burst)
			counted := uint64(0)
			for _, rate := range c.rates {
				replace(t, l, file(c.algorithm, rate, c.use))
				r := l.Counters().Rules[0]
				counted += r.Allowed + r.Refused
			}
			equal(t, "counted by rules", counted, l.Counters().Requests)
			equal(t, "allowed by the zone", liveZone(t, l).Allowed, uint64(allowed))
		})
	}
}

// file has two zones that each request is charged to, one of them with an override, and a rule that is named as the rate.
func file(algorithm, rate, use string) string {
	override := ", overrides: [{value: [198.51.100.1, /other], rate: 3r/m}]"
	if algorithm == "nginx" {
		override = ""
	}
	return fmt.Sprintf(`
http:
  zones:
    z: {key: [ip, path], algorithm: %s, rate: %s%s}
    y: {key: ip, algorithm: %[1]s, rate: %[2]s}
  rules: [{name: %[5]s, limits: [{zone: z%[4]s}, {zone: y%[4]s}]}]
`, algorithm, rate, override, use, strings.ReplaceAll(rate, "/", "-"))
}

// TestReplaceOfBurstsUnderLoad: over one change of the burst, no more pass than the larger of both.
func TestReplaceOfBurstsUnderLoad(t *testing.T) {
	const clients = 8
	for range 50 {
		l := newLive(t, file("leaky", "1r/s", ", burst: 9, nodelay: true"))
		larger := section(t, file("leaky", "1r/s", ", burst: 19, nodelay: true"))
		if allowed := pounded(t, l, clients, func() { _ = l.Replace(larger, alone, start) }); allowed != clients*20 {
			t.Fatalf("%d allowed, want %d", allowed, clients*20)
		}
		l = newLive(t, file("leaky", "1r/s", ", burst: 19, nodelay: true"))
		smaller := section(t, file("leaky", "1r/s", ", burst: 9, nodelay: true"))
		if allowed := pounded(t, l, clients, func() { _ = l.Replace(smaller, alone, start) }); allowed > clients*20 || allowed < clients*10 {
			t.Fatalf("%d allowed, want %d at most", allowed, clients*20)
		}
	}
}

// TestReplaceOfSlotsUnderLoad: never more are under way than the most that there are places, and none is lost.
func TestReplaceOfSlotsUnderLoad(t *testing.T) {
	l := newLive(t, zoned("concurrent: 3", ""))
	files := []config.HTTP{section(t, zoned("concurrent: 5", "")), section(t, zoned("concurrent: 1", ""))}
	var underWay, most atomic.Int64
	var done atomic.Bool
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for !done.Load() {
				d := l.Decide(get("/"), start)
				if d.Allowed {
					n := underWay.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					underWay.Add(-1)
				}
				d.Free(start)
			}
		})
	}
	for i := range 2000 {
		if err := l.Replace(files[i%2], alone, start); err != nil {
			t.Error(err)
		}
	}
	done.Store(true)
	all.Wait()
	if most.Load() > 5 {
		t.Errorf("%d under way at once", most.Load())
	}
	equal(t, "under way in the end", peek(t, l, "192.0.2.1").Owed, 0)
	equal(t, "keys in the end", passes(l, get("/"), 3, start), 3)
}

// While rules are replaced, looking at the keys and counting goes on, and no count goes back.
func TestReplaceWhileOthersLook(t *testing.T) {
	l := newLive(t, file("leaky", "10r/s", ", burst: 19, nodelay: true"))
	files := []config.HTTP{
		section(t, file("leaky", "10r/s", ", burst: 19, nodelay: true")), section(t, file("sketch", "10r/s", ", burst: 19, nodelay: true")),
		section(t, file("window", "20r/m", "")), section(t, file("leaky", "20r/m", "")),
	}
	var last uint64
	pounded(t, l, 4, func() {
		for i := range 400 {
			if err := l.Replace(files[i%len(files)], alone, start); err != nil {
				t.Error(err)
			}
			l.Explain(get(longPath), start).Free(start)
			_, err1 := l.Peek("z", []string{"192.0.2.1", longPath}, start)
			_, err2 := l.Top("z", 10, start)
			_, err3 := l.Reset("y", []string{"192.0.2.77"})
			if err1 != nil || err2 != nil || err3 != nil {
				t.Error(err1, err2, err3)
			}
			z := liveZone(t, l)
			now := z.Keyed.Allowed + z.Keyed.Refused
			if now < last {
				t.Errorf("counted %d and before %d", now, last)
			}
			last = now
		}
	})
}
