package change

import (
	"path/filepath"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/heatmap"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/netlab/netlabtest"
	"github.com/headgate/headgate/userspace/rate"
)

// A new policy finds no cells of the one that had its slot before: their times may be hours ahead. Those of
// the others, and its own when it is set again, stay.
func TestNewPolicyFindsNoCells(t *testing.T) {
	const lines = heatmap.MinMemory / 64
	dir := filepath.Join(netlabtest.BPFFS(t), "hg")
	o := loader.Options{Dir: dir, MaxSources: 4096, MaxRules: 100, HeatMemory: heatmap.MinMemory, Agent: true}
	c, err := Open(o, func(*loader.Instance) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer c.Instance.Close()
	table, err := ebpf.LoadPinnedMap(filepath.Join(dir, "v1", bpf.MapHeat), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	p := policymap.Policy{Name: "web", SYN: true, Limit: wire.Limit{Packets: wire.Quota{Rate: rate.Rate{Count: 1, Per: 1e9}, Burst: 1}}}
	config, err := c.Instance.Policies().Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, again := range []bool{false, true} {
		for i := range uint32(lines) {
			line := bpf.HeatLine{Cell: [bpf.HeatCells]bpf.HeatCell{{Tat: 1, Tag: 1, Mark: 1}}}
			if err := table.Put(i, &line); err != nil {
				t.Fatal(err)
			}
		}
		if err := SetPolicy(c.Instance, &config, p); err != nil {
			t.Fatal(err)
		}
		set, _ := config.Policy("web")
		first, past := lines>>(set.Slot()+1), lines>>set.Slot()
		for i := range lines {
			mine := i >= first && i < past
			var line bpf.HeatLine
			if err := table.Lookup(uint32(i), &line); err != nil {
				t.Fatal(err)
			}
			if empty := line == (bpf.HeatLine{}); empty != (mine && !again) {
				t.Fatalf("set again: %v: line %d is empty: %v; lines %d to %d are of its slot", again, i, empty, first, past-1)
			}
		}
	}
}
