package heatmap_test

import (
	"testing"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/heatmap"
	"github.com/headgate/headgate/test/need"
)

// The slots of a table that is cleared in several parts: nobody else's lines are.
func TestClear(t *testing.T) {
	need.Root(t)
	const lines = 1 << 15
	for _, tt := range []struct {
		name        string
		clear       func(*heatmap.Map) error
		first, past int // of the lines that are cleared
	}{
		{"all", (*heatmap.Map).Clear, 0, lines},
		{"first slot", func(m *heatmap.Map) error { return m.ClearSlot(0) }, lines / 2, lines},
		{"second slot", func(m *heatmap.Map) error { return m.ClearSlot(1) }, lines / 4, lines / 2},
		{"last slot", func(m *heatmap.Map) error { return m.ClearSlot(7) }, lines / 256, lines / 128},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := fullTable(t, lines)
			if err := tt.clear(heatmap.New(m)); err != nil {
				t.Fatal(err)
			}
			for i, line := range linesOf(t, m) {
				if empty := line == (bpf.HeatLine{}); empty != (i >= tt.first && i < tt.past) {
					t.Fatalf("line %d is empty: %v", i, empty)
				}
			}
		})
	}
}

// fullTable returns a table of n lines in which every cell is taken.
func fullTable(t *testing.T, n uint32) *ebpf.Map {
	t.Helper()
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 64, MaxEntries: n})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	keys, values := make([]uint32, n), make([]bpf.HeatLine, n)
	for i := range keys {
		keys[i] = uint32(i)
		for j := range values[i].Cell {
			values[i].Cell[j] = bpf.HeatCell{Tat: 1, Tag: 1, Mark: 1}
		}
	}
	if _, err := m.BatchUpdate(keys, values, nil); err != nil {
		t.Fatal(err)
	}
	return m
}

func linesOf(t *testing.T, m *ebpf.Map) []bpf.HeatLine {
	t.Helper()
	var cursor ebpf.MapBatchCursor
	keys, values := make([]uint32, m.MaxEntries()), make([]bpf.HeatLine, m.MaxEntries())
	if n, err := m.BatchLookup(&cursor, keys, values, nil); n != len(keys) {
		t.Fatalf("read %d lines: %v", n, err)
	}
	return values
}
