// Package heatmap gives the heat tier its numbers: how large the table is, up to which flood that
// holds, and how fast sources may get exact buckets.
package heatmap

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
)

// Sizes of the table in bytes; it is a power of two of lines. What is smaller than the default fits
// into a CPU's cache, and has room for fewer sources that owe something at the same time.
const (
	MinMemory     = lineBytes << bpf.MaxPolicies
	DefaultMemory = 1 << 20
	MaxMemory     = 1 << 30

	lineBytes = 64
)

// Settings are what the program is loaded with.
type Settings struct {
	Memory  uint64        // bytes, MinMemory to MaxMemory; rounded down to a power of two
	Buckets uint32        // how many there can be
	CPUs    int           // that packets may arrive at
	Tick    time.Duration // of the kernel
}

// OfMachine returns the settings of a program that is loaded here.
func OfMachine(memory uint64, buckets uint32) (Settings, error) {
	tick, err := Tick()
	if err != nil {
		return Settings{}, err
	}
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return Settings{}, fmt.Errorf("count the CPUs: %w", err)
	}
	return Settings{Memory: memory, Buckets: buckets, CPUs: cpus, Tick: tick}, nil
}

// Credit is how fast a CPU may make buckets.
type Credit struct {
	Cost, Burst time.Duration // of one, and that may be saved up
}

// Unlimited is a credit for as many as there are packets.
func Unlimited() [bpf.CreditLen]Credit {
	return [bpf.CreditLen]Credit{{Burst: math.MaxInt64}, {Burst: math.MaxInt64}}
}

// hotPerSecond is how many sources that need a bucket can get one, per CPU: some 2 % of its time.
const hotPerSecond = 20_000

// Credits returns the credits of a CPU. Sources that do not need a bucket share an eighth of them,
// but no more than the heat table can keep in mind, and in ten minutes all.
func (s Settings) Credits() [bpf.CreditLen]Credit {
	cpus := uint64(max(s.CPUs, 1))
	saved := max(min(uint64(s.Buckets)/8, lines(s.Memory)/4)/cpus, 1)
	cost := 10 * time.Minute / time.Duration(max(uint64(s.Buckets)/cpus, 1))
	const hot = time.Second / hotPerSecond
	return [bpf.CreditLen]Credit{
		bpf.CreditCold: {Cost: cost, Burst: time.Duration(saved) * cost},
		bpf.CreditHot:  {Cost: hot, Burst: hotPerSecond / 10 * hot},
	}
}

// Configure sets the constants of a program that is not loaded yet, and the size of its table.
func Configure(spec *ebpf.CollectionSpec, s Settings, credits [bpf.CreditLen]Credit) error {
	spec.Maps[bpf.MapHeat].MaxEntries = uint32(lines(s.Memory))
	var cost, burst [bpf.CreditLen]uint64
	for i, c := range credits {
		cost[i], burst[i] = uint64(c.Cost), uint64(c.Burst)
	}
	constants := map[string]any{
		bpf.VarHeatMask:    uint32(lines(s.Memory) - 1),
		bpf.VarTick:        uint64(s.Tick),
		bpf.VarTickFirst:   firstTick(s.Tick),
		bpf.VarCreditCost:  cost,
		bpf.VarCreditBurst: burst,
	}
	for name, value := range constants {
		if err := spec.Variables[name].Set(value); err != nil {
			return fmt.Errorf("set the program's constant %s: %w", name, err)
		}
	}
	return nil
}

func lines(memory uint64) uint64 {
	return 1 << (bits.Len64(min(max(memory, MinMemory), MaxMemory)/lineBytes) - 1)
}

// Rounded returns the size of the table that there is for so much memory.
func Rounded(memory uint64) uint64 { return lines(memory) * lineBytes }

// firstTick is what the kernel's counter of ticks shows at the boot: it begins five minutes before it
// wraps around in 32 bits, so that what cannot cope fails early.
func firstTick(tick time.Duration) uint64 {
	return uint64(uint32(-300 * int64(time.Second/tick)))
}

// Map is the table of a loaded program.
type Map struct{ lines *ebpf.Map }

// New returns the view of the map bpf.MapHeat. It does not close it.
func New(lines *ebpf.Map) *Map { return &Map{lines} }

// Memory returns the size of the table in bytes.
func (m *Map) Memory() uint64 { return uint64(m.lines.MaxEntries()) * lineBytes }

// Cells returns how many sources the table has room for.
func (m *Map) Cells() int { return int(m.lines.MaxEntries()) * bpf.HeatCells }

// Clear makes all sources cold that owe nothing to a bucket.
func (m *Map) Clear() error { return m.clear(0, m.lines.MaxEntries()) }

// ClearSlot does so in the lines of a policy's slot, for a new policy there: the times of the one before
// may be hours ahead, and would keep the sources of this one from cells of their own for so long.
func (m *Map) ClearSlot(slot int) error {
	n := m.lines.MaxEntries() >> (slot + 1)
	return m.clear(n, n)
}

// clear empties n lines from the first one on, in parts, as all may be a GB.
func (m *Map) clear(first, n uint32) error {
	const part = 4096
	keys, empty := make([]uint32, 0, min(n, part)), make([]bpf.HeatLine, min(n, part))
	for ; n > 0; n -= uint32(len(keys)) {
		keys = keys[:0]
		for range min(n, part) {
			keys = append(keys, first)
			first++
		}
		if _, err := m.lines.BatchUpdate(keys, empty[:len(keys)], nil); err != nil {
			return fmt.Errorf("clear the heat table: %w", err)
		}
	}
	return nil
}
