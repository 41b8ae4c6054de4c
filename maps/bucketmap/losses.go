package bucketmap

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/statmap"
)

// lossChunk bounds the memory of one system call: an entry has a value for each CPU.
const lossChunk = 4096

// losses are the entries of all CPUs by slot. A CPU's entry counts only where it has the number
// that is asked for; otherwise it is what an earlier source lost there.
type losses [][]bpf.Loss

func (m *Map) readLosses() (losses, error) {
	var cursor ebpf.MapBatchCursor
	all := make(losses, m.losses.MaxEntries())
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return nil, fmt.Errorf("count CPUs: %w", err)
	}
	keys, values := make([]uint32, lossChunk), make([]bpf.Loss, lossChunk*cpus)
	for {
		n, err := m.losses.BatchLookup(&cursor, keys, values, nil)
		last := errors.Is(err, ebpf.ErrKeyNotExist)
		if err != nil && !last {
			return nil, fmt.Errorf("read losses: %w", err)
		}
		for i, slot := range keys[:n] {
			all[slot] = used(values[i*cpus : (i+1)*cpus])
		}
		if last {
			return all, nil
		}
	}
}

// used returns a copy of the entries that any source ever had.
func used(entries []bpf.Loss) []bpf.Loss {
	var kept []bpf.Loss
	for _, e := range entries {
		if e.Number != 0 {
			kept = append(kept, e)
		}
	}
	return kept
}

func (l losses) addTo(source *Source, number uint64) {
	if number == 0 || len(l) == 0 {
		return
	}
	for _, e := range l[number%uint64(len(l))] {
		if e.Number == number {
			source.Drop.Add(statmap.Of(e.Drop))
			source.WouldDrop.Add(statmap.Of(e.WouldDrop))
		}
	}
}
