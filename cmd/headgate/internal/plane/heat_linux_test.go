package plane

import (
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/heatmap"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/rate"
)

func (l *lab) wantOverflow(policy string, want policymap.Overflow) {
	l.Helper()
	s := l.state()
	if p, ok := s.Config.Policy(policy); !ok || p.Overflow != want {
		l.Errorf("the overflow of %s is %s, want %s", policy, p.Overflow, want)
	}
}

// Each policy has the overflow of the file. What is set live keeps it, unless it says another one.
func TestOverflow(t *testing.T) {
	l := newLab(t)
	file := []func(*config.Kernel){defaultLimit(100), policy("dns", 53, 9), func(k *config.Kernel) {
		k.Overflow, k.Policies[0].Overflow = config.OverflowDrop, config.OverflowPass
	}}
	l.apply(file...)
	l.wantOverflow("default", policymap.OverflowDrop)
	l.wantOverflow("dns", policymap.OverflowPass)

	l.must(l.plane.Scale(0.5))
	l.must(l.plane.SetPolicy(config.Policy{Name: "dns", FirstPort: 53, LastPort: 53, Limit: limitTo(5)}))
	l.must(l.plane.SetPolicy(config.Policy{Name: "web", FirstPort: 80, LastPort: 80, Limit: limitTo(5)}))
	l.wantOverflow("default", policymap.OverflowDrop)
	l.wantOverflow("dns", policymap.OverflowPass)
	l.wantOverflow("web", policymap.OverflowEstimate)

	l.must(l.plane.SetPolicy(config.Policy{Name: "default", Overflow: config.OverflowPass, Limit: limitTo(5)}))
	l.wantOverflow("default", policymap.OverflowPass)
	policies, err := l.plane.Policies()
	if err != nil || policies[0].Overflow != "pass" {
		t.Errorf("%+v, %v", policies, err)
	}
	l.apply(file...)
	l.wantOverflow("default", policymap.OverflowDrop)
}

func (l *lab) wantHeat(want uint64) {
	l.Helper()
	l.cli(func(i *loader.Instance) error {
		if got := i.Heat().Memory(); got != want {
			l.Errorf("the heat table has %d bytes, want %d", got, want)
		}
		return nil
	})
}

// A new instance has the heat table of the file, and keeps it.
func TestHeatMemory(t *testing.T) {
	l := newLab(t)
	memory := func(bytes uint64) func(*config.Kernel) {
		return func(k *config.Kernel) { k.HeatMemory = bytes }
	}
	l.apply(memory(100 << 10))
	l.wantHeat(64 << 10)
	l.wantLog("rounded --heat-memory from 102400 to 65536 bytes", true)
	l.apply(memory(100 << 10))
	l.wantLog("keeps its size; heat_memory is for a new one", false)
	l.apply(memory(1 << 20))
	l.wantHeat(64 << 10)
	l.wantLog("keeps its size; heat_memory is for a new one", true)
}

// Without one in the file its limits say how large the table is, and where no table would do, that is said.
func TestHeatMemoryByLimits(t *testing.T) {
	perSecond := func(n uint64) config.KernelLimit {
		return config.KernelLimit{Rate: rate.Rate{Count: n, Per: time.Second, Unit: rate.Packets}, Burst: n}
	}
	const text = "sources are remembered for long"
	l := newLab(t)
	l.apply(policy("dns", 53, 9), func(k *config.Kernel) { k.Default, k.Policies[0].Limit = perSecond(1000), perSecond(100) })
	l.wantHeat(16 << 20)
	l.wantLog(text, false)

	l = newLab(t)
	l.apply(defaultLimit(3)) // ten minutes a packet
	l.wantHeat(heatmap.MostByDefault)
	l.wantLog(text, true)
	l.apply(defaultLimit(3))
	if n := strings.Count(l.log.String(), text); n != 1 {
		t.Errorf("it is said %d times, want once, of a new instance", n)
	}
}

func (l *lab) wantLog(text string, want bool) {
	l.Helper()
	if got := strings.Contains(l.log.String(), text); got != want {
		l.Errorf("%q is in the log: %t, want %t", text, got, want)
	}
}

// The sizes that a file may name are those that there are.
func TestHeatMemoryBounds(t *testing.T) {
	if config.MinHeatMemory != heatmap.MinMemory || config.MaxHeatMemory != heatmap.MaxMemory {
		t.Errorf("%d to %d in files, %d to %d of tables", config.MinHeatMemory, config.MaxHeatMemory, heatmap.MinMemory, heatmap.MaxMemory)
	}
}
