// Package bpf holds the XDP programs of the benchmark, compiled for both byte orders: those that
// headgate is compared with, and those that change the source address of each packet.
package bpf

import "github.com/cilium/ebpf"

// Names of the programs.
const (
	Noop     = benchProgNoop     // drops
	Pass     = benchProgPass     // passes
	Clock    = benchProgClock    // parses, reads the clock, drops
	Spread   = benchProgSpread   // sets a random source, then calls the program in MapTarget
	Generate = benchProgGenerate // sets a random source, then sends out of VarOutIfindex
)

// MapTarget is the map with the program that Spread calls, at index 0.
const MapTarget = benchMapTarget

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

// Load parses the object for this machine's byte order. Each call returns a new spec, which the
// caller may change before it loads it.
func Load() (*ebpf.CollectionSpec, error) { return loadBench() }
