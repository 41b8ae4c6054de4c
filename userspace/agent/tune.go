package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/userspace/adaptive"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
	"github.com/headgate/headgate/userspace/ruleset"
)

// rules are the HTTP limits: as configured, as changed live, and times the factor. Agent.changing guards what is not safe by itself.
type rules struct {
	clock func() time.Duration
	live  *ruleset.Live
	fleet ruleset.Fleet // the machines that share limits
	// configured is what the file says, and changed what SetZone made of zones since.
	configured config.HTTP
	changed    atomic.Pointer[zonesByName]
	factor     float64
}

// zonesByName are zones, which are not changed any more.
type zonesByName map[string]config.Zone

// changes returns what SetZone made of zones since the last reload.
func (r *rules) changes() zonesByName {
	if changed := r.changed.Load(); changed != nil {
		return *changed
	}
	return nil
}

// of returns what is in force with changes and a factor.
func of(h config.HTTP, changed zonesByName, factor float64) config.HTTP {
	h.Zones = slices.Clone(h.Zones)
	for i, z := range h.Zones {
		if to, is := changed[z.Name]; is {
			h.Zones[i] = to
		}
	}
	return ruleset.Scale(h, factor)
}

// scale puts a factor in force.
func (r *rules) scale(factor float64) error {
	if factor == r.factor {
		return nil
	}
	if err := r.live.Replace(of(r.configured, r.changes(), factor), r.fleet, r.clock()); err != nil {
		return fmt.Errorf("scale the rates of the zones: %w", err)
	}
	r.factor = factor
	return nil
}

// resize has the limits go by another number of machines.
func (r *rules) resize(f ruleset.Fleet) error {
	if f == r.fleet {
		return nil
	}
	if err := r.live.Replace(of(r.configured, r.changes(), r.factor), f, r.clock()); err != nil {
		return err
	}
	r.fleet = f
	return nil
}

// set changes one zone.
func (r *rules) set(z config.Zone) error {
	changed := zonesByName{}
	maps.Copy(changed, r.changes())
	changed[z.Name] = z
	if err := r.live.Replace(of(r.configured, changed, r.factor), r.fleet, r.clock()); err != nil {
		return err
	}
	r.changed.Store(&changed)
	return nil
}

// nextRules are what a file says, ready to be put in force.
type nextRules struct {
	*ruleset.Next
	fleet      ruleset.Fleet
	configured config.HTTP
	factor     float64
}

// prepare makes what a file says. It is to be committed or dropped.
func (r *rules) prepare(h config.HTTP, f ruleset.Fleet, factor float64) (*nextRules, error) {
	next, err := r.live.Prepare(of(h, nil, factor), f)
	if err != nil {
		return nil, err
	}
	return &nextRules{next, f, h, factor}, nil
}

// commit puts what a file says in force: changes that were made live are forgotten.
func (r *rules) commit(n *nextRules) {
	n.Commit(r.clock())
	r.configured, r.fleet, r.factor = n.configured, n.fleet, n.factor
	r.changed.Store(nil)
}

// factors returns what HTTP and kernel rates are to be multiplied with.
func factors(c *config.Adaptive, factor float64) (http, kernel float64) {
	http, kernel = 1, 1
	if c == nil {
		return http, kernel
	}
	if c.HTTP {
		http = factor
	}
	if c.Kernel {
		kernel = factor
	}
	return http, kernel
}

// tune moves the rates at each interval until ctx ends.
func (a *Agent) tune(ctx context.Context, c *adaptive.Controller, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			a.adapt(c, c.Step(a.clock()))
		}
	}
}

// adapt applies a decision of c about the rates, and tells of one that changes something. It may have waited for a reload: as long as c
// decides, what it has decided holds by the new settings.
func (a *Agent) adapt(c *adaptive.Controller, change adaptive.Change) {
	a.changing.Lock()
	defer a.changing.Unlock()
	again := !change.Changed() && a.state.unscaled
	if a.state.ctx.Err() != nil || a.state.adaptive != c || !change.Changed() && !again {
		return // the agent ends, nothing is adapted any more, or all is as it should be
	}
	err := a.scale(c.Factor())
	a.state.unscaled = err != nil
	log := a.log.With("factor", change.Factor, "was", change.Was, "reason", change.Reason, "observe", change.Observed)
	if err != nil {
		if !again {
			log.Error("the rates were not changed everywhere; trying again", "error", err)
		}
		return
	}
	now := time.Now()
	a.mu.Lock()
	a.state.adaptedAt = now
	a.mu.Unlock()
	log.Info("rates adapted")
	a.bus.Publish(event.Event{Time: now, Kind: event.Adapted, Factor: change.Factor, Reason: change.Reason})
}

// scale puts a factor in force on the rates that the configuration names.
func (a *Agent) scale(factor float64) error {
	http, kernel := factors(a.state.file.Adaptive, factor)
	if err := a.state.rules.scale(http); err != nil {
		return err
	}
	if a.state.kernel == nil || a.state.file.Kernel == nil {
		return nil
	}
	return a.state.kernel.Scale(kernel)
}
