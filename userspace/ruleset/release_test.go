package ruleset_test

import (
	"sync"
	"testing"

	"github.com/headgate/headgate/userspace/ruleset"
)

const slots = `
http:
  zones:
    slots: {key: ip, concurrent: 3}
    perip: {key: ip, rate: 1000r/s}
  rules:
    - limits: [{zone: perip, burst: 1000, nodelay: true}, {zone: slots}]
`

// underWay returns how many places of zone slots are taken by the client of get.
func underWay(s *ruleset.Set) uint64 {
	d := s.Explain(get("/"), start)
	last := d.Limits[len(d.Limits)-1].Result
	if !last.Allowed {
		return last.Limit
	}
	return last.Limit - last.Remaining - 1
}

func TestReleaseGivesBackOnce(t *testing.T) {
	s := newSet(t, slots)
	first, second := s.Decide(get("/"), start), s.Decide(get("/"), start)
	third := s.Decide(get("/"), start)
	equal(t, "under way", underWay(s), 3)
	fourth := s.Decide(get("/"), start)
	equal(t, "the fourth", fourth.Allowed, false)
	equal(t, "its zone", fourth.Zone, "slots")

	fourth.Release(start)
	equal(t, "after the refused one has ended", underWay(s), 3)
	for range 5 {
		first.Release(start)
	}
	equal(t, "after one has ended", underWay(s), 2)
	equal(t, "it can still be read", first.Limits[1].Key(), "192.0.2.1")
	first.Free(start)
	second.Free(start)
	equal(t, "after two have ended", underWay(s), 1)
	third.Release(start)
	equal(t, "after all have ended", underWay(s), 0)
}

// TestReleaseByMany: a place is given back once, also if all who may do it do it at once.
func TestReleaseByMany(t *testing.T) {
	s := newSet(t, slots)
	s.Decide(get("/"), start)
	for range 100 {
		d := s.Decide(get("/"), start)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { d.Release(start) })
		}
		all.Wait()
		if got := underWay(s); got != 1 {
			t.Fatalf("%d under way", got)
		}
	}
}

// TestFreedMemoryKeepsNothing: a decision that was freed is as new.
func TestFreedMemoryKeepsNothing(t *testing.T) {
	s := newSet(t, slots)
	for range 4 {
		s.Decide(get("/"), start).Free(start)
	}
	refused := s.Decide(from("192.0.2.2", "/"), start)
	refused.Free(start)
	d := s.Decide(from("192.0.2.3", "/"), start)
	equal(t, "limits", len(d.Limits), 2)
	equal(t, "rule", d.Rule, "")
	equal(t, "key", d.Limits[1].Key(), "192.0.2.3")
	d.Release(start)
	new(ruleset.Decision).Free(start) // of no set
}

// TestSlotsOfADryRun: they are counted while the request is under way, and refuse nobody.
func TestSlotsOfADryRun(t *testing.T) {
	s := newSet(t, `
http:
  zones:
    slots: {key: ip, concurrent: 2}
  rules:
    - {dry_run: true, limits: [{zone: slots}]}
`)
	var all []*ruleset.Decision
	for i := range 4 {
		d := s.Decide(get("/"), start)
		equal(t, "allowed", d.Allowed, true)
		equal(t, "dry run", d.DryRun, i >= 2)
		all = append(all, d)
	}
	for _, d := range all {
		d.Free(start)
	}
	equal(t, "under way", underWay(s), 0)
}

// TestExplainChangesNothing: it says what Decide then does.
func TestExplainChangesNothing(t *testing.T) {
	s := newSet(t, traced)
	r := with(get("/login"), "appid", "7")
	for range 4 {
		var want string
		for range 3 {
			want = s.Explain(r, start).String()
		}
		d := s.Decide(r, start)
		if d.Allowed {
			equal(t, "decision", d.String(), want)
		} else {
			equal(t, "explained", len(want) > 0, true)
		}
	}
	equal(t, "counted", s.Counters().Requests, 4)
	equal(t, "rule", ruleCounts(t, s, "logins"), ruleset.Counts{Allowed: 1, Spared: 3})
}
