package main

import (
	"fmt"
	"runtime"

	"github.com/headgate/headgate/test/bench/limiters"
	"github.com/headgate/headgate/test/bench/report"
	"github.com/headgate/headgate/test/bench/traffic"
)

// Worker measures one subject. Its methods are called from another process, one at a time.
type Worker struct {
	subject  limiters.Subject
	group    Group
	limiter  limiters.Limiter
	end      func()
	keys     traffic.Keys            // each once
	traffic  map[string]traffic.Keys // all that are used, by the name of the traffic
	distinct map[string]int
	garbage  uint64 // bytes that the sample before allocated
}

// Opened is what a worker is ready for.
type Opened struct {
	BytesPerKey float64
	Distinct    map[string]int // different keys, by the name of the traffic
}

// Open makes the worker ready to measure a group.
func (w *Worker) Open(g Group, r *Opened) error {
	w.group = g
	if err := w.makeTraffic(); err != nil {
		return err
	}
	r.Distinct = w.distinct
	if g.known() == 0 {
		return nil
	}
	before := liveHeap()
	if err := w.open(g.setup()); err != nil {
		return err
	}
	if err := acquaint(w.limiter, w.keys, g.known()); err != nil {
		return fmt.Errorf("%s, %d keys, %s: %w", w.subject.Name, g.Keys, g.Path, err)
	}
	r.BytesPerKey = (liveHeap()-before)/float64(g.Keys) - traffic.KeyLen
	return nil
}

func (w *Worker) open(s limiters.Setup) (err error) {
	w.close()
	w.limiter, w.end, err = w.subject.Open(s)
	return err
}

func (w *Worker) close() {
	if w.limiter != nil {
		w.end()
		w.limiter = nil
	}
}

// makeTraffic makes all keys in the order of their use, and counts the different ones.
func (w *Worker) makeTraffic() error {
	g := w.group
	w.keys = traffic.Shuffled(g.Keys)
	w.traffic, w.distinct = map[string]traffic.Keys{}, map[string]int{}
	for _, row := range g.traffic() {
		if w.traffic[row.Name] != "" {
			continue
		}
		keys := w.keys
		switch row.Name {
		case report.Uniform, report.OneKey:
			keys = traffic.Uniform(g.Keys, g.Total)
		case report.Zipf:
			keys = traffic.Zipf(g.Keys, g.Total)
		}
		seen := traffic.NewSeen(g.Keys)
		if err := seen.Add(keys); err != nil {
			return err
		}
		w.traffic[row.Name], w.distinct[row.Name] = keys, seen.Distinct()
	}
	return nil
}

// SampleArgs says what to measure.
type SampleArgs struct {
	Traffic Traffic
	Round   int
}

// Sample is what a worker measured, per request.
type Sample struct {
	NS     float64
	Allocs float64
}

// Sample measures one round.
func (w *Worker) Sample(a SampleArgs, r *Sample) error {
	runtime.GOMAXPROCS(a.Traffic.CPUs)
	if w.group.Path == report.NewKey {
		return w.sampleNew(a, r)
	}
	calls := w.group.Calls
	keys := w.traffic[a.Traffic.Name].Slice(a.Round*calls, (a.Round+1)*calls)
	return w.measure(a, keys, 1, r)
}

// sampleNew measures a limiter without keys, or several if it takes few keys.
func (w *Worker) sampleNew(a SampleArgs, r *Sample) error {
	stores := w.group.stores()
	for range stores {
		if err := w.open(w.group.setup()); err != nil {
			return err
		}
		if err := w.measure(a, w.keys, stores, r); err != nil {
			return err
		}
		if c, ok := w.limiter.(limiters.Counter); ok && c.Keys() != w.group.Keys {
			return fmt.Errorf("%s: remembers %d new keys of %d", w.subject.Name, c.Keys(), w.group.Keys)
		}
	}
	w.close()
	runtime.GC() // it may be under way, and the next subject's turn comes
	return nil
}

// measure adds to r what requests of the keys cost, where r is the mean of so many parts.
func (w *Worker) measure(a SampleArgs, keys traffic.Keys, parts int, r *Sample) error {
	w.makeRoom()
	before := memory()
	allowed, took := driveOn(a.Traffic.CPUs, w.limiter, keys)
	after := memory()
	w.garbage = after.TotalAlloc - before.TotalAlloc
	want := keys.Len()
	if w.group.Path == report.Refused {
		want = 0
	}
	if allowed != want {
		return fmt.Errorf("%s, %d keys, %s, %s: allowed %d of %d, not %d: it is not what is meant to be measured",
			w.subject.Name, w.group.Keys, w.group.Path, a.Traffic.Name, allowed, keys.Len(), want)
	}
	per := float64(keys.Len() * parts)
	r.NS += float64(took.Nanoseconds()) / per
	r.Allocs += float64(after.Mallocs-before.Mallocs) / per
	return nil
}

// makeRoom collects garbage if it would be collected while as much is allocated as in the sample
// before, or after that, when others are measured.
func (w *Worker) makeRoom() {
	if m := memory(); w.garbage > 0 && m.HeapAlloc+2*w.garbage >= m.NextGC {
		runtime.GC()
	}
}
