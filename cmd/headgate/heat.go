package main

import (
	"fmt"
	"math"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/heatmap"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/rate"
)

// parseHeatMemory reads the size of a heat table.
func parseHeatMemory(text string) (uint64, error) {
	memory, err := rate.ParseSize(text)
	if err != nil {
		return 0, usagef("--heat-memory: %w", err)
	}
	if memory < heatmap.MinMemory || memory > heatmap.MaxMemory {
		return 0, usagef("--heat-memory %s: use %s to %s", text, rate.FormatSize(heatmap.MinMemory), rate.FormatSize(heatmap.MaxMemory))
	}
	return memory, nil
}

// newHeatMemory returns how large a new instance's heat table is to be: what is given, or what the limit that it begins
// with asks for.
func (f *attachFlags) newHeatMemory() (uint64, error) {
	if f.heatMemory != "" {
		return parseHeatMemory(f.heatMemory)
	}
	if limit, err := f.limit.apply(wire.Limit{}); err == nil {
		policies := []policymap.Policy{{Name: policymap.Default, Limit: limit}}
		return heatmap.MemoryFor(policies, heatmap.MostByDefault), nil
	}
	return heatmap.DefaultMemory, nil // a change of a limit that there is: so is the table
}

// noticeHeat says where a new instance holds less than it should, and what to do.
func (e *env) noticeHeat(i *loader.Instance, policies []policymap.Policy) {
	memory := i.Heat().Memory()
	least, ok := heatmap.Least(memory, policies)
	if !ok || least.Rate >= heatmap.Flood {
		return
	}
	larger := ""
	enough := heatmap.MemoryFor(policies, heatmap.MaxMemory)
	if more, _ := heatmap.Least(enough, policies); more.Rate >= heatmap.Flood {
		larger = fmt.Sprintf("attached anew with --heat-memory %s it is %s, and ", rate.FormatSize(enough), render.PacketRate(more.Rate))
	}
	e.notice("note: at so low a rate sources are remembered for long: a flood from made-up addresses finds room up to %s; "+
		"%s`headgate policy set strangers --unverified --key shared --rate 200kpps` limits all strangers together",
		render.PacketRate(least.Rate), larger)
}

func heatView(table *heatmap.Map, policies []policymap.Policy) render.Heat {
	view := render.Heat{MemoryBytes: table.Memory(), Cells: table.Cells(), Policies: []render.HeldPolicy{}}
	for _, h := range heatmap.HoldsOf(view.MemoryBytes, policies) {
		held := render.HeldPolicy{Policy: h.Policy, Exact: h.Exact}
		if !h.Exact && !math.IsInf(h.Rate, 1) {
			rounded := math.Round(10*h.Rate) / 10
			held.HoldsPPS = &rounded
		}
		view.Policies = append(view.Policies, held)
	}
	return view
}
