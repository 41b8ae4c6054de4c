//go:build linux

package progtest

import (
	"encoding/binary"
	"errors"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/heatmap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/thread"
	"github.com/headgate/headgate/userspace/limit/heat"
)

// Step is a frame at a time of the clock.
type Step struct {
	At    uint64
	Frame []byte
}

// Steps gives the program one frame after the other, all on one CPU, as credits for buckets are each
// CPU's own. It returns what the program says to the driver of each. It is the way to run a great many:
// Run reads all counters with each frame.
func (l *Lab) Steps(steps ...Step) []Action {
	l.tb.Helper()
	actions := make([]Action, len(steps))
	l.check(thread.Run(need.AllowedCPUs()[0], func() error {
		if err := thread.BlockSignals(); err != nil {
			return err
		}
		for i, step := range steps {
			if err := l.clock.Set(step.At); err != nil {
				return err
			}
			action, err := l.prog.Run(&ebpf.RunOptions{Data: step.Frame})
			if err != nil {
				return err
			}
			actions[i] = Action(action)
		}
		return nil
	}))
	return actions
}

// Tiers returns what all CPUs counted of the two tiers since the program was loaded.
func (l *Lab) Tiers() heat.Counts {
	l.tb.Helper()
	var sum heat.Counts
	for _, cpu := range l.cpus() {
		sum.Cold += cpu.Cold
		sum.Inserts += cpu.Inserts
		sum.Deferred += cpu.Deferred
	}
	return sum
}

// Cells returns the heat table.
func (l *Lab) Cells() []heat.Line {
	l.tb.Helper()
	table := l.Map(bpf.MapHeat)
	keys, values := make([]uint32, table.MaxEntries()), make([]bpf.HeatLine, table.MaxEntries())
	var cursor ebpf.MapBatchCursor
	if _, err := table.BatchLookup(&cursor, keys, values, nil); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		l.check(err)
	}
	lines := make([]heat.Line, len(values))
	for i, line := range values {
		for j, cell := range line.Cell {
			lines[keys[i]][j] = heat.Cell{Time: cell.Tat, Tag: cell.Tag, Mark: cell.Mark}
		}
	}
	return lines
}

// Forget makes all sources new: there are no buckets and no cells, and the whole credit for buckets.
func (l *Lab) Forget() {
	l.tb.Helper()
	l.check(heatmap.New(l.Map(bpf.MapHeat)).Clear())
	list, err := l.Buckets.List()
	l.check(err)
	for _, s := range list {
		l.Evict(SourceKey{s.Addr, s.PolicyID})
	}
	cpus := l.cpus()
	for i := range cpus {
		cpus[i].Credit, cpus[i].NextInsert = [bpf.CreditLen]uint64{}, 0
	}
	l.check(l.Map(bpf.MapCounters).Put(uint32(0), cpus))
}

// Evict removes a bucket, as the kernel does where the map is full. It reports whether there was one.
func (l *Lab) Evict(source SourceKey) bool {
	l.tb.Helper()
	key := wire.Source(source.Addr)
	key.Policy |= uint32(source.PolicyID)
	var b []byte
	for _, word := range append([]uint32{key.Policy}, key.Addr[:]...) {
		b = binary.NativeEndian.AppendUint32(b, word)
	}
	buckets := l.Map(bpf.MapBuckets)
	err := buckets.Delete(b[:buckets.KeySize()])
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		return false
	}
	l.check(err)
	return true
}
