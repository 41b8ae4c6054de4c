// Package bpf holds the XDP programs of the benchmark, compiled for both byte orders: those that
// headgate is compared with, and those that change the source address of each packet.
package bpf

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// Names of the programs.
const (
	Noop     = benchProgNoop     // drops
	Pass     = benchProgPass     // passes
	Clock    = benchProgClock    // parses, reads the clock, drops
	Spread   = benchProgSpread   // sets a random source, then calls the program in MapTarget
	Generate = benchProgGenerate // gives a UDP packet a random source and its checksums, then sends it out of VarOutIfindex
)

// MapTarget is the map with the program that Spread calls, at index 0. MapRandom has at index 0 a uint64 for each CPU, which
// says what sources come next there.
const (
	MapTarget = benchMapTarget
	MapRandom = benchMapRandomStates
)

// Names of the constants to set before loading. Sources are VarSources (uint64, at most 2^32) addresses:
// VarFirstSource (uint32, host byte order) and those so many times VarSourceStep (uint32) further,
// within VarSourceMask (uint32).
const (
	VarFirstSource = benchVarFirstSource
	VarSourceStep  = benchVarSourceStep
	VarSourceMask  = benchVarSourceMask
	VarSources     = benchVarSources
	VarOutIfindex  = benchVarOutIfindex // uint32
)

// Open loads the programs for this machine's byte order, with values for their constants. It needs root.
func Open(constants map[string]any) (*ebpf.Collection, error) {
	spec, err := loadBench()
	if err != nil {
		return nil, err
	}
	for name, value := range constants {
		if err := spec.Variables[name].Set(value); err != nil {
			return nil, fmt.Errorf("set %s: %w", name, err)
		}
	}
	coll, err := ebpf.NewCollection(spec)
	if err != nil {
		return nil, fmt.Errorf("load the benchmark's programs: %w", err)
	}
	return coll, nil
}
