package rulemap

import (
	"fmt"
	"net/netip"

	"github.com/headgate/headgate/bpf"
)

// sweepIfSmall sweeps where listing everything takes no more than a system call.
func (m *Map) sweepIfSmall() error {
	g, err := m.readGlobal()
	if err != nil {
		return err
	}
	if total := g.Rules4 + g.Rules6; total == 0 || total > chunk {
		return nil
	}
	return m.sweep()
}

// Sweep removes what is left of rules that have ended, which the program ignores anyway. It counts
// afresh: a SetAll that was killed leaves the counts too high.
func (m *Map) Sweep() error {
	return m.changing(func() error {
		if err := m.sweep(); err != nil {
			return err
		}
		return m.tidy()
	})
}

func (m *Map) sweep() error {
	now := m.now()
	var kept [2]uint64
	for i, f := range m.families() {
		var ended []netip.Prefix
		for e, err := range f.all() {
			if err != nil {
				return err
			}
			if !holds(&e.value, now) {
				ended = append(ended, e.prefix)
			} else {
				kept[i]++
			}
		}
		for _, p := range ended {
			if err := f.delete(p); err != nil {
				return err
			}
		}
	}
	return m.setCounts(kept)
}

// recount sets the counts to what is in the maps.
func (m *Map) recount() error {
	var counts [2]uint64
	for i, f := range m.families() {
		for _, err := range f.all() {
			if err != nil {
				return err
			}
			counts[i]++
		}
	}
	return m.setCounts(counts)
}

func (m *Map) setCounts(counts [2]uint64) error {
	return m.count(func(g *bpf.Global) error {
		g.Rules4, g.Rules6 = counts[0], counts[1]
		return nil
	})
}

// count changes the counts, and counts what was removed since the last time. Only userspace writes this
// map, under the loader's lock.
func (m *Map) count(update func(*bpf.Global) error) error {
	g, err := m.readGlobal()
	if err != nil {
		return err
	}
	before := g
	if err := update(&g); err != nil {
		return err
	}
	for _, f := range m.families() {
		_, stale := f.counts(&g)
		*stale += f.removed
	}
	if g == before {
		return nil
	}
	if err := m.globals.Put(uint32(0), &g); err != nil {
		return fmt.Errorf("write the rule counts: %w", err)
	}
	m.v4.removed, m.v6.removed = 0, 0
	return nil
}

func (m *Map) readGlobal() (g bpf.Global, err error) {
	if err := m.globals.Lookup(uint32(0), &g); err != nil {
		return g, fmt.Errorf("read the rule counts: %w", err)
	}
	return g, nil
}
