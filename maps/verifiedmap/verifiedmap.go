// Package verifiedmap gives the table of verified sources a meaning: which sources proved to be who
// they say, and until when that counts. Only policies that ask for it treat them differently.
//
// The table is mapped into memory, and an entry is one word that is exchanged in one step. So
// processes may write at the same time without a lock, and no packet sees half of an entry.
package verifiedmap

import (
	"fmt"
	"net/netip"
	"os"
	"sync"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/wire"
)

// Map is the verified sources of one instance. It is safe for concurrent use, also by several
// processes, but for Close.
type Map struct {
	lines, globals *ebpf.Map

	mapping sync.Once // on first use: most commands have none for it
	memory  []byte
	table   table
	err     error
}

// New returns a view of the maps, which stay the caller's and open until Close.
func New(lines, globals *ebpf.Map) *Map { return &Map{lines: lines, globals: globals} }

// Close ends the view.
func (m *Map) Close() error {
	m.mapping.Do(func() { m.err = os.ErrClosed })
	memory := m.memory
	m.memory, m.table, m.err = nil, nil, os.ErrClosed
	return unmapMemory(memory)
}

// open returns the table.
func (m *Map) open() (table, error) {
	m.mapping.Do(func() {
		if m.memory, m.err = mapMemory(m.lines); m.err == nil {
			m.table = tableOf(m.memory)
		}
	})
	return m.table, m.err
}

// Capacity returns how many sources there can be. A source has room in one line of eight, so the
// first are displaced before all of it is taken: about one in a hundred at half of it.
func (m *Map) Capacity() int { return int(m.lines.MaxEntries()) * bpf.VerifiedPerLine }

// Add makes sources verified until a time of the boot clock, in ns, and up to 2^30 ns (1.07 s)
// longer. Addresses are cut to what makes a source (policymap.Config.Cut). Those that are verified for longer
// stay so. In a line that is full, the source whose time ends first has to go, or is not added.
func (m *Map) Add(sources []netip.Addr, until uint64) error {
	return m.each(sources, func(l *line, tag uint32) { l.add(tag, tickOf(until)) })
}

// Remove makes sources unverified.
func (m *Map) Remove(sources []netip.Addr) error { return m.each(sources, (*line).remove) }

// Has reports whether a source is verified at a time of the boot clock.
func (m *Map) Has(source netip.Addr, now uint64) (has bool, err error) {
	err = m.each([]netip.Addr{source}, func(l *line, tag uint32) { has = l.has(tag, uint32(now>>bpf.VerifiedTickShift)) })
	return has, err
}

// Count returns how many sources are verified at a time of the boot clock. It reads the whole table,
// which takes about a millisecond.
func (m *Map) Count(now uint64) (int, error) {
	t, err := m.open()
	return t.count(uint32(now >> bpf.VerifiedTickShift)), err
}

// each calls do with the line and the tag of each source.
func (m *Map) each(sources []netip.Addr, do func(l *line, tag uint32)) error {
	salt, err := m.salt()
	if err != nil {
		return err
	}
	t, err := m.open()
	if err != nil {
		return err
	}
	for _, source := range sources {
		number, tag := place(&salt, source)
		do(&t[number], tag)
	}
	return nil
}

func (m *Map) salt() (wire.Salt, error) {
	var g bpf.Global
	if err := m.globals.Lookup(uint32(0), &g); err != nil {
		return g.Salt, fmt.Errorf("read the salt of the verified sources: %w", err)
	}
	return g.Salt, nil
}

// place returns the number of a source's line, and its tag there.
func place(salt *wire.Salt, source netip.Addr) (number, tag uint32) {
	key := wire.Source(source)
	hash := wire.Hash(salt, key.Policy, key.Addr)
	return uint32(hash >> (64 - bpf.VerifiedLineBits)), uint32(hash)
}

// tickOf returns the first tick that is not before a time.
func tickOf(until uint64) uint32 {
	ticks := until >> bpf.VerifiedTickShift
	if until&(1<<bpf.VerifiedTickShift-1) != 0 {
		ticks++
	}
	return uint32(min(ticks, 1<<32-1))
}
