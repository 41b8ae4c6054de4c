package main

import (
	"runtime"
	"time"

	"github.com/headgate/headgate/test/bench/limiters"
	"github.com/headgate/headgate/test/bench/report"
)

// plan is how much is measured.
type plan struct {
	keys          []int
	rounds, calls int // calls is of one sample; of all together it has to be a multiple of each of keys
	processes     int // of each subject and group, one after the other; the rounds are divided among them
	flood         int // different keys for a limiter with a bound, 0 for no flood
	floodOthers   int // for one that just grows
	floodMaxKeys  int
}

func planFor(quick bool) plan {
	if quick {
		return plan{keys: []int{1, 1000, 100_000}, rounds: 5, calls: 20_000, processes: 1, flood: 2_000_000, floodOthers: 500_000, floodMaxKeys: 100_000}
	}
	return plan{
		keys: []int{1, 1000, 100_000, 1_000_000}, rounds: 20, calls: 50_000, processes: 3,
		flood: 10_000_000, floodOthers: 2_000_000, floodMaxKeys: 100_000,
	}
}

// cpuCounts returns on how many CPUs each row is measured.
func cpuCounts() []int {
	if runtime.NumCPU() < 2 {
		return []int{1}
	}
	return []int{1, 2}
}

// Group is what is measured of one process of each subject.
type Group struct {
	Keys  int
	Path  string
	Total int // requests over all rounds
	Calls int // of one sample, at least
}

// Traffic is how a sample uses the keys of its group.
type Traffic struct {
	Name string
	CPUs int
}

// groups returns all that is measured, in the order of the report.
func (p plan) groups() []Group {
	var groups []Group
	for _, keys := range p.keys {
		for _, path := range []string{report.Allowed, report.Refused, report.NewKey} {
			if path == report.NewKey && keys == 1 {
				continue
			}
			groups = append(groups, Group{Keys: keys, Path: path, Total: p.rounds * p.calls, Calls: p.calls})
		}
	}
	return groups
}

// rounds returns in how many samples a group is measured. Where each sample has to add all
// keys, they are longer, and fewer.
func (g Group) rounds() int {
	if g.Path == report.NewKey {
		return max(3, g.Total/g.sampleCalls())
	}
	return g.Total / g.Calls
}

// sampleCalls returns how many requests a sample makes.
func (g Group) sampleCalls() int {
	if g.Path == report.NewKey {
		return g.stores() * g.Keys
	}
	return g.Calls
}

// stores returns how many limiters a sample fills with new keys.
func (g Group) stores() int { return (g.Calls + g.Keys - 1) / g.Keys }

// traffic returns the rows of the group.
func (g Group) traffic() []Traffic {
	names := []string{report.Uniform, report.Zipf}
	switch {
	case g.Path == report.NewKey:
		names = []string{report.Once}
	case g.Keys == 1:
		names = []string{report.OneKey}
	}
	var rows []Traffic
	for _, name := range names {
		for _, cpus := range cpuCounts() {
			rows = append(rows, Traffic{name, cpus})
		}
	}
	return rows
}

// setup returns a limit under which all requests of the path come out alike. It is slow, so that
// no key has paid its debt before the row ends: what owes nothing may be forgotten, and is not
// measured then.
func (g Group) setup() limiters.Setup {
	switch g.Path {
	case report.Allowed:
		return limiters.Setup{Burst: 50_000_000, Per: time.Minute, Keys: g.Keys}
	default:
		return limiters.Setup{Burst: refusedBurst, Per: time.Hour, Keys: g.Keys}
	}
}

// refusedBurst is the burst that a key has used up whose requests are to be refused.
const refusedBurst = 2

// known returns how many requests each key has made before it is measured.
func (g Group) known() int {
	switch g.Path {
	case report.Allowed:
		return 1
	case report.Refused:
		return refusedBurst
	default:
		return 0
	}
}

// subjects returns those that the path makes sense for.
func (g Group) subjects(all []limiters.Subject) []limiters.Subject {
	var some []limiters.Subject
	for _, s := range all {
		if !s.Waits || g.Path != report.Refused {
			some = append(some, s)
		}
	}
	return some
}
