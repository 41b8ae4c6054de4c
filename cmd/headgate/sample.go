package main

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/bucketmap"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/statmap"
)

// Orders of sources.
const (
	byDropped = "dropped"
	byPassed  = "passed"
)

// sample is what there was at one moment.
type sample struct {
	at       clock
	config   policymap.Config
	total    bucketmap.Source // of all packets
	sources  []bucketmap.Source
	capacity int
}

func takeSample(i *loader.Instance, at clock) (sample, error) {
	config, err := i.Policies().InForce(at.boot)
	if err != nil {
		return sample{}, err
	}
	stats, err := i.Stats()
	if err != nil {
		return sample{}, err
	}
	buckets := i.Buckets()
	sources, err := buckets.List()
	return sample{
		at:       at,
		config:   config,
		total:    bucketmap.Source{Pass: stats.Pass(), Drop: stats.Drop(), WouldDrop: stats.WouldDrop()},
		sources:  sources,
		capacity: buckets.Capacity(),
	}, err
}

// sourceKey identifies a source in two samples.
type sourceKey struct {
	addr     netip.Addr
	policyID uint16
}

func keyOf(s bucketmap.Source) sourceKey { return sourceKey{s.Addr, s.PolicyID} }

// rankedSource is a source and what it did since the sample before: all of it where there is none.
type rankedSource struct {
	bucketmap.Source
	since bucketmap.Source
}

// top returns the first sources in an order, all of them where limit is 0. What happened since
// the sample before counts first, and is turned into rates.
func (s *sample) top(before *sample, by string, limit int) render.Top {
	var earlier map[sourceKey]bucketmap.Source
	if before != nil {
		earlier = make(map[sourceKey]bucketmap.Source, len(before.sources))
		for _, source := range before.sources {
			earlier[keyOf(source)] = source
		}
	}
	var first []rankedSource
	for _, source := range s.sources {
		first = append(first, rankedSource{source, sourceSince(source, earlier[keyOf(source)])})
		if limit > 0 && len(first) >= 2*limit+1000 { // sorting now and then keeps few of a million
			first = best(first, by, limit)
		}
	}
	top := render.Top{}
	for _, r := range best(first, by, limit) {
		top = append(top, s.view(r, before))
	}
	return top
}

func best(sources []rankedSource, by string, limit int) []rankedSource {
	compare := compareLost
	if by == byPassed {
		compare = comparePassed
	}
	slices.SortFunc(sources, compare)
	if limit > 0 && len(sources) > limit {
		return sources[:limit]
	}
	return sources
}

func compareLost(a, b rankedSource) int {
	return cmp.Or(
		cmp.Compare(b.since.Lost(), a.since.Lost()), cmp.Compare(b.Lost(), a.Lost()),
		passedMore(a, b), bucketmap.CompareKeys(a.Source, b.Source),
	)
}

func comparePassed(a, b rankedSource) int {
	return cmp.Or(passedMore(a, b), cmp.Compare(b.Lost(), a.Lost()), bucketmap.CompareKeys(a.Source, b.Source))
}

func passedMore(a, b rankedSource) int {
	return cmp.Or(
		cmp.Compare(b.since.Pass.Packets, a.since.Pass.Packets),
		cmp.Compare(b.Pass.Packets, a.Pass.Packets),
	)
}

// sourceSince returns what a source did since before.
func sourceSince(now, before bucketmap.Source) bucketmap.Source {
	now.Pass = counterSince(now.Pass, before.Pass)
	now.Drop = counterSince(now.Drop, before.Drop)
	now.WouldDrop = counterSince(now.WouldDrop, before.WouldDrop)
	return now
}

// counterSince returns the growth of a counter. One that is less than before began anew: the kernel
// had forgotten the source in between.
func counterSince(now, before statmap.Counter) statmap.Counter {
	if now.Packets < before.Packets || now.Bytes < before.Bytes {
		return now
	}
	return now.Sub(before)
}

func (s *sample) view(r rankedSource, before *sample) render.TopSource {
	view := render.TopSource{
		Source:    s.sourceText(r.Addr),
		Policy:    s.config.PolicyLabel(r.PolicyID),
		Pass:      r.Pass,
		Drop:      r.Drop,
		WouldDrop: r.WouldDrop,
	}
	view.Rates = s.rates(r.since, before)
	return view
}

// totalRates returns the rates of all packets since before, or nil where there is no before.
func (s *sample) totalRates(before *sample) *render.Rates {
	if before == nil {
		return nil
	}
	return s.rates(sourceSince(s.total, before.total), before)
}

// rates turns what was done since before into rates.
func (s *sample) rates(since bucketmap.Source, before *sample) *render.Rates {
	if before == nil {
		return nil
	}
	seconds := s.at.until(before.at.boot).Abs().Seconds()
	if seconds == 0 {
		return &render.Rates{}
	}
	const bits = 8
	return &render.Rates{
		PassPackets:      float64(since.Pass.Packets) / seconds,
		PassBits:         float64(since.Pass.Bytes) * bits / seconds,
		DropPackets:      float64(since.Drop.Packets) / seconds,
		WouldDropPackets: float64(since.WouldDrop.Packets) / seconds,
	}
}

// sourceText writes a source as the prefix that it stands for, or as an address where it is one.
func (s *sample) sourceText(addr netip.Addr) string { return prefixText(s.config.Source(addr)) }
