package handdown

import (
	"maps"
	"math"
	"net/netip"
	"sync"
	"time"
)

// force knows the rules that are in force, so that there are never more than allowed, and so that a source whose
// history was forgotten does not get a second one. The zero value is ready.
type force struct {
	mu    sync.Mutex
	rules map[netip.Prefix]term
	// first is no later than when the first of them ends.
	first time.Duration
}

// term is until when a rule holds.
type term struct {
	until time.Duration
	dry   bool
}

// len returns how many rules hold at now.
func (f *force) len(now time.Duration) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sweep(now)
	return len(f.rules)
}

// of returns the rule of a prefix, and whether it has one.
func (f *force) of(prefix netip.Prefix, now time.Duration, dryRun bool) (term, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.rules[prefix]
	return r, now < r.until && (!r.dry || dryRun)
}

// add notes a rule.
func (f *force) add(prefix netip.Prefix, until time.Duration, dry bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rules == nil {
		f.rules = make(map[netip.Prefix]term)
	}
	if len(f.rules) == 0 {
		f.first = until
	}
	f.first = min(f.first, until)
	f.rules[prefix] = term{until, dry}
}

// remove forgets a rule.
func (f *force) remove(prefix netip.Prefix) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.rules, prefix)
}

// replace makes the rules those of now, but for those of a dry run, and returns those that were there and should
// still be.
func (f *force) replace(now time.Duration, rules map[netip.Prefix]time.Duration, dryRun bool) (gone []netip.Prefix) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sweep(now)
	for prefix, r := range f.rules {
		if _, there := rules[prefix]; r.dry && dryRun || there {
			continue
		}
		delete(f.rules, prefix)
		if !r.dry {
			gone = append(gone, prefix)
		}
	}
	if f.rules == nil {
		f.rules = make(map[netip.Prefix]term)
	}
	for prefix, until := range rules {
		f.rules[prefix] = term{until: until}
	}
	f.first = 0
	return gone
}

// sweep forgets rules that have ended. It looks at them only if there is one.
func (f *force) sweep(now time.Duration) {
	if len(f.rules) == 0 || now < f.first {
		return
	}
	maps.DeleteFunc(f.rules, func(_ netip.Prefix, r term) bool { return now >= r.until })
	f.first = math.MaxInt64
	for _, r := range f.rules {
		f.first = min(f.first, r.until)
	}
}
