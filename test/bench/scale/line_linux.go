package main

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/test/thread"
)

// lineTime returns how long it takes that a CPU sees what another one wrote, in ns: two write to one cache line in turn. It is the
// least of the rounds, since whoever is stopped in between keeps the other waiting.
func lineTime(cpus []int, p plan) (float64, error) {
	var rounds []float64
	for range p.rounds {
		ns, err := handOver(cpus, p.handoffs)
		if err != nil {
			return 0, err
		}
		rounds = append(rounds, ns)
	}
	return slices.Min(rounds), nil
}

// handOver has the CPUs count up to n together, each where it is its turn.
func handOver(cpus []int, n int) (float64, error) {
	var turn atomic.Int64
	start := time.Now()
	err := thread.Together(cpus, func(i int) error {
		for next := int64(i); next < int64(n); next += int64(len(cpus)) {
			for turn.Load() != next {
			}
			turn.Store(next + 1)
		}
		return nil
	})
	return float64(time.Since(start)) / float64(n), err
}
