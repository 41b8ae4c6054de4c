package metrics

import (
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// collector reads the sources at each scrape.
type collector struct {
	sources Sources
	agent   agentFamilies
	http    httpFamilies
	kernel  kernelFamilies
	store   storeFamilies
	fleet   fleetFamilies
	errors  *family

	mu     sync.Mutex
	failed uint64 // reads of the kernel
	broken bool   // the last of them
}

func newCollector(s Sources) *collector {
	if s.Log == nil {
		s.Log = slog.Default()
	}
	return &collector{
		sources: s,
		agent:   newAgentFamilies(),
		http:    newHTTPFamilies(),
		kernel:  newKernelFamilies(),
		store:   newStoreFamilies(),
		fleet:   newFleetFamilies(),
		errors:  counter("scrape_errors_total", "Times a source could not be read for a scrape.", "source"),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, families := range [][]*family{c.agent.all(), c.http.all(), c.kernel.all(), c.store.all(), c.fleet.all(), {c.errors}} {
		for _, f := range families {
			to <- f.desc
		}
	}
}

// Collect implements prometheus.Collector. Scrapes at the same time do not wait for each other.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	s := make(scrape)
	c.agent.read(s, &c.sources)
	if c.sources.HTTP != nil {
		c.http.read(s, c.sources.HTTP())
	}
	with(c.sources.Store, func(v *Store) { c.store.read(s, v) })
	with(c.sources.Fleet, func(v *Fleet) { c.fleet.read(s, v) })
	if c.sources.Kernel != nil {
		c.readKernel(s)
	}
	s.send(to)
}

func (c *collector) readKernel(s scrape) {
	k, err := c.sources.Kernel()
	switch {
	case err == nil && k == nil:
		return
	case err == nil:
		c.kernel.read(s, k)
	}
	s.flag(c.kernel.up, err == nil)
	s.count(c.errors, c.tally(err), "kernel")
}

// tally returns how many reads have failed. A change is logged, and not each scrape.
func (c *collector) tally(err error) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch was := c.broken; {
	case err != nil && !was:
		c.sources.Log.Error("the kernel's counters cannot be read: no metrics of them until they can", "error", err)
	case err == nil && was:
		c.sources.Log.Info("the kernel's counters can be read again")
	}
	c.broken = err != nil
	if c.broken {
		c.failed++
	}
	return c.failed
}
