package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// leastHeap is how many bytes the agent's heap may have before garbage is collected, however little of it is in use. That is a
// few MiB as a rule; Go would collect 4 MiB on, many times a second in a flood, which is a tenth of what a refusal costs.
const leastHeap = 32 << 20

// usualPercent is how much a heap grows between collections if nobody says anything else: as much as was in use.
const usualPercent = 100

// collector makes garbage be collected by leastHeap, and as usual where more is in use.
type collector struct {
	mu      sync.Mutex
	percent int // in force
	ended   bool
}

// collectSeldom begins that, unless GOGC or GOMEMLIMIT say what is wanted. stop takes it back.
func (e *env) collectSeldom() (stop func()) {
	if e.getenv("GOGC") != "" || e.getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	c := &collector{percent: usualPercent}
	c.adapt()
	return c.stop
}

// adapt goes by what is in use now, and again after the next collection, which finds a cycle that nobody has any more.
func (c *collector) adapt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	// Each change stops all goroutines for a moment.
	if p := percentFor(inUse()); p < c.percent || p > c.percent+c.percent/4 {
		c.percent = p
		debug.SetGCPercent(p)
	}
	runtime.AddCleanup(new(cycle), (*collector).adapt, c)
}

// cycle is garbage. It is too large to share its place with what is used.
type cycle [64]byte

func (c *collector) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	debug.SetGCPercent(usualPercent)
}

// inUse returns how many bytes of the heap the last collection left, and how many beside them a collection looks at: stacks and
// globals.
func inUse() (heap, roots uint64) {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"},
	}
	metrics.Read(samples)
	return samples[0].Value.Uint64(), samples[1].Value.Uint64() + samples[2].Value.Uint64()
}

// percentFor returns the percentage (of GOGC) by which the heap may have leastHeap bytes; the usual one if it may by that. Of the
// roots Go allows as much as of the heap, and 10,000 connections have more in stacks than in the heap.
func percentFor(heap, roots uint64) int {
	const most = leastHeap / (4 << 20) * usualPercent // the 4 MiB that are not collected are as many times that
	if heap >= leastHeap {
		return usualPercent
	}
	return min(max(usualPercent, int((leastHeap-heap)*100/max(1, heap+roots))), most)
}
