package rulemap

import (
	"fmt"
	"net/netip"

	"github.com/headgate/headgate/bpf"
)

// sweepIfSmall sweeps where listing everything takes no more than a system call.
func (m *Map) sweepIfSmall() error {
	var g bpf.Global
	if err := m.globals.Lookup(uint32(0), &g); err != nil {
		return fmt.Errorf("read the rule counts: %w", err)
	}
	if total := g.Rules4 + g.Rules6; total == 0 || total > chunk {
		return nil
	}
	return m.Sweep()
}

// Sweep removes what is left of rules that have ended, which the program ignores anyway. It counts
// afresh: a SetAll that was killed leaves the counts too high.
func (m *Map) Sweep() error {
	now := m.now()
	var kept [2]uint64
	for i, t := range []trie{m.v4, m.v6} {
		var ended []netip.Prefix
		for e, err := range t.all() {
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
			if err := t.delete(p); err != nil {
				return err
			}
		}
	}
	return m.setCounts(kept)
}

// recount sets the counts to what is in the tries.
func (m *Map) recount() error {
	var counts [2]uint64
	for i, t := range []trie{m.v4, m.v6} {
		for _, err := range t.all() {
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

// count changes the two counts. Only userspace writes this map, under the loader's lock.
func (m *Map) count(update func(*bpf.Global) error) error {
	var g bpf.Global
	if err := m.globals.Lookup(uint32(0), &g); err != nil {
		return fmt.Errorf("read the rule counts: %w", err)
	}
	before := g
	if err := update(&g); err != nil || g == before {
		return err
	}
	if err := m.globals.Put(uint32(0), &g); err != nil {
		return fmt.Errorf("write the rule counts: %w", err)
	}
	return nil
}
