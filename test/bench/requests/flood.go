package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/headgate/headgate/test/bench/limiters"
	"github.com/headgate/headgate/test/bench/report"
	"github.com/headgate/headgate/test/bench/traffic"
)

// FloodArgs says how many keys come, and how many a limiter is to remember where it can be told.
type FloodArgs struct{ Keys, MaxKeys int }

// Flood drives different keys through a limiter, each once, none of which owes nothing again
// before all are through.
func (w *Worker) Flood(a FloodArgs, r *report.FloodResult) error {
	start := liveHeap()
	s := limiters.Setup{Burst: refusedBurst, Per: time.Hour, Keys: a.MaxKeys}
	if err := w.open(s); err != nil {
		return err
	}
	defer w.close()
	*r = report.FloodResult{
		Subject: w.subject.Name, Ours: w.subject.Ours, Bounded: w.subject.Bounded, Keys: a.Keys,
	}
	r.Start = liveHeap() - start

	seen := traffic.NewSeen(a.Keys)
	counting := liveHeap() - start - r.Start // what seen takes
	live := func() float64 { return liveHeap() - start - counting }
	const waves = 10
	size := a.Keys / waves
	var spent time.Duration
	for i := range waves {
		elapsed, err := w.wave(traffic.Range(i*size, size), seen)
		if err != nil {
			return err
		}
		if spent += elapsed; i == 0 {
			r.Tenth = live()
		}
	}
	r.End = live()
	if seen.Distinct() != size*waves {
		return fmt.Errorf("%d different keys, not %d", seen.Distinct(), size*waves)
	}
	r.NS = float64(spent.Nanoseconds()) / float64(size*waves)
	return nil
}

// wave makes a request of each key, from memory of its own, and returns how long that took.
func (w *Worker) wave(keys traffic.Keys, seen *traffic.Seen) (time.Duration, error) {
	if err := seen.Add(keys); err != nil {
		return 0, err
	}
	start := time.Now()
	for i := range keys.Len() {
		if !w.limiter.Take(strings.Clone(keys.At(i))) {
			return 0, fmt.Errorf("%s: refused the first request of a key", w.subject.Name)
		}
	}
	return time.Since(start), nil
}
