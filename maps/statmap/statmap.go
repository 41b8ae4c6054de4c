// Package statmap reads the program's counters. They are kept per CPU and only ever grow.
package statmap

import (
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
)

// Counter counts packets, and the bytes of their IP packets.
type Counter struct {
	Packets uint64 `json:"packets"`
	Bytes   uint64 `json:"bytes"`
}

// Add adds o to c.
func (c *Counter) Add(o Counter) {
	c.Packets += o.Packets
	c.Bytes += o.Bytes
}

// Sub returns what c has more than o.
func (c Counter) Sub(o Counter) Counter {
	return Counter{Packets: c.Packets - o.Packets, Bytes: c.Bytes - o.Bytes}
}

// Of translates a counter of the program.
func Of(c bpf.Counter) Counter { return Counter{Packets: c.Packets, Bytes: c.Bytes} }

// Slot is what a policy's packets came to. WouldDrop is part of what passed.
type Slot struct {
	Pass, Drop, WouldDrop Counter
}

// Stats are the sums over all CPUs at about one moment.
type Stats struct {
	total    [bpf.VerdictLen][bpf.ReasonLen]bpf.Counter
	policies [bpf.MaxPolicies][bpf.VerdictLen]bpf.Counter

	// Cold is how many packets passed by their heat cell alone, for each policy that they passed.
	Cold uint64
	// Inserts is how many buckets were made, and Deferred how often a source that needs one got none: as
	// too many came at once, or the kernel had no room.
	Inserts, Deferred uint64

	// Suppressed is how many drops have had no event since the last one of their CPU.
	Suppressed uint64
}

// Read returns the counters' sums.
func Read(counters *ebpf.Map) (Stats, error) {
	var cpus []bpf.Counters
	if err := counters.Lookup(uint32(0), &cpus); err != nil {
		return Stats{}, fmt.Errorf("read the counters: %w", err)
	}
	var s Stats
	for i := range cpus {
		s.add(&cpus[i])
	}
	return s, nil
}

func (s *Stats) add(cpu *bpf.Counters) {
	for verdict := range cpu.Total {
		for reason, c := range cpu.Total[verdict] {
			sum(&s.total[verdict][reason], c)
		}
	}
	for slot := range cpu.Policies {
		for verdict, c := range cpu.Policies[slot] {
			sum(&s.policies[slot][verdict], c)
		}
	}
	s.Cold += cpu.Cold
	s.Inserts += cpu.Inserts
	s.Deferred += cpu.Deferred
	s.Suppressed += cpu.Suppressed
}

func sum(to *bpf.Counter, c bpf.Counter) {
	to.Packets += c.Packets
	to.Bytes += c.Bytes
}

// Verdict returns what got a verdict, for whatever reason.
func (s *Stats) Verdict(v bpf.Verdict) Counter {
	var total Counter
	for _, c := range s.total[v] {
		total.Add(Of(c))
	}
	return total
}

// Pass returns what passed, that which dry run would have dropped included.
func (s *Stats) Pass() Counter {
	total := s.Verdict(bpf.VerdictPass)
	total.Add(s.Verdict(bpf.VerdictWouldDrop))
	return total
}

// Drop returns what was dropped.
func (s *Stats) Drop() Counter { return s.Verdict(bpf.VerdictDrop) }

// WouldDrop returns what dry run let pass.
func (s *Stats) WouldDrop() Counter { return s.Verdict(bpf.VerdictWouldDrop) }

// Count returns what got a verdict for a reason.
func (s *Stats) Count(v bpf.Verdict, r bpf.Reason) Counter { return Of(s.total[v][r]) }

// Reason returns what was decided for a reason, whatever the verdict.
func (s *Stats) Reason(r bpf.Reason) Counter {
	var total Counter
	for verdict := range s.total {
		total.Add(Of(s.total[verdict][r]))
	}
	return total
}

// Slots returns the raw counters by policy slot: what a new policy starts from.
func (s *Stats) Slots() [bpf.MaxPolicies][bpf.VerdictLen]bpf.Counter { return s.policies }

// Policy returns what the policy at a slot counted since base.
func (s *Stats) Policy(slot int, base [bpf.VerdictLen]bpf.Counter) Slot {
	since := func(v bpf.Verdict) Counter {
		return Of(s.policies[slot][v]).Sub(Of(base[v]))
	}
	counted := Slot{
		Pass:      since(bpf.VerdictPass),
		Drop:      since(bpf.VerdictDrop),
		WouldDrop: since(bpf.VerdictWouldDrop),
	}
	counted.Pass.Add(counted.WouldDrop)
	return counted
}
