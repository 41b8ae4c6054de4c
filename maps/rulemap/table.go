package rulemap

import (
	"errors"
	"fmt"
	"iter"
	"net/netip"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/wire"
)

// chunk is how many rules go over in one system call: enough that the call costs nothing, few
// enough that progress shows.
const chunk = 4096

// table is one family's rules with the type of their keys hidden.
type table interface {
	get(netip.Prefix) (bpf.Rule, bool, error)
	put([]netip.Prefix, []bpf.Rule) error
	delete(netip.Prefix) error
	all() iter.Seq2[entry, error]
	maxEntries() uint32
}

type entry struct {
	prefix netip.Prefix
	value  bpf.Rule
}

// typedTable is a table with keys of type K.
type typedTable[K any] struct {
	m      *ebpf.Map
	key    func(netip.Prefix) K
	prefix func(K) netip.Prefix
}

func newTable4(m *ebpf.Map) table {
	return &typedTable[bpf.Prefix4]{
		m: m,
		key: func(p netip.Prefix) bpf.Prefix4 {
			words, _ := wire.Addr(p.Addr())
			return bpf.Prefix4{Len: uint32(p.Bits()), Addr: words[0]}
		},
		prefix: func(k bpf.Prefix4) netip.Prefix {
			addr := wire.ToAddr([4]uint32{k.Addr}, uint8(bpf.FamilyIPv4))
			return netip.PrefixFrom(addr, int(k.Len))
		},
	}
}

func newTable6(m *ebpf.Map) table {
	return &typedTable[bpf.Prefix6]{
		m: m,
		key: func(p netip.Prefix) bpf.Prefix6 {
			words, _ := wire.Addr(p.Addr())
			return bpf.Prefix6{Len: uint32(p.Bits()), Addr: words}
		},
		prefix: func(k bpf.Prefix6) netip.Prefix {
			return netip.PrefixFrom(wire.ToAddr(k.Addr, uint8(bpf.FamilyIPv6)), int(k.Len))
		},
	}
}

func (t *typedTable[K]) maxEntries() uint32 { return t.m.MaxEntries() }

// get returns the value of exactly this prefix.
func (t *typedTable[K]) get(p netip.Prefix) (bpf.Rule, bool, error) {
	var value bpf.Rule
	err := t.m.Lookup(t.key(p), &value)
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		return bpf.Rule{}, false, nil
	}
	if err != nil {
		return bpf.Rule{}, false, fmt.Errorf("look up the rule of %s: %w", p, err)
	}
	return value, true, nil
}

func (t *typedTable[K]) put(prefixes []netip.Prefix, values []bpf.Rule) error {
	keys := make([]K, len(prefixes))
	for i, p := range prefixes {
		keys[i] = t.key(p)
	}
	err := persist(len(keys), func(from int) (int, error) {
		return t.m.BatchUpdate(keys[from:], values[from:], nil)
	})
	if err != nil {
		return fmt.Errorf("write %d rules: %w", len(keys), err)
	}
	return nil
}

func (t *typedTable[K]) delete(p netip.Prefix) error {
	err := t.m.Delete(t.key(p))
	if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("delete the rule of %s: %w", p, err)
	}
	return nil
}

// all yields every prefix with its value.
func (t *typedTable[K]) all() iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		var cursor ebpf.MapBatchCursor
		keys, values := make([]K, chunk), make([]bpf.Rule, chunk)
		for {
			n, err := t.m.BatchLookup(&cursor, keys, values, nil)
			for i := range n {
				if !yield(entry{t.prefix(keys[i]), values[i]}, nil) {
					return
				}
			}
			if errors.Is(err, ebpf.ErrKeyNotExist) {
				return
			}
			if err != nil {
				yield(entry{}, fmt.Errorf("list rules: %w", err))
				return
			}
		}
	}
}
