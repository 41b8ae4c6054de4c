package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/headgate/headgate/userspace/adaptive"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
	"github.com/headgate/headgate/userspace/ruleset"
)

// rules are the HTTP limits: as configured, as changed live, and times the factor.
type rules struct {
	live *ruleset.Live
	// configured is what the file says, and changed what SetZone made of zones since, by their number.
	configured config.HTTP
	changed    map[int]config.Zone
	factor     float64
}

// of returns what is in force with changes and a factor.
func (r *rules) of(changed map[int]config.Zone, factor float64) config.HTTP {
	h := r.configured
	h.Zones = append([]config.Zone(nil), h.Zones...)
	for i, z := range changed {
		h.Zones[i] = z
	}
	return ruleset.Scale(h, factor)
}

// scale puts a factor in force.
func (r *rules) scale(factor float64) error {
	if factor == r.factor {
		return nil
	}
	if err := r.live.Replace(r.of(r.changed, factor)); err != nil {
		return fmt.Errorf("scale the rates of the zones: %w", err)
	}
	r.factor = factor
	return nil
}

// set changes one zone.
func (r *rules) set(i int, z config.Zone) error {
	changed := map[int]config.Zone{i: z}
	for n, other := range r.changed {
		if n != i {
			changed[n] = other
		}
	}
	if err := r.live.Replace(r.of(changed, r.factor)); err != nil {
		return err
	}
	r.changed = changed
	return nil
}

// configure puts what a file says in force: changes that were made live are forgotten.
func (r *rules) configure(h config.HTTP, factor float64) error {
	next := rules{configured: h}
	if err := r.live.Replace(next.of(nil, factor)); err != nil {
		return err
	}
	r.configured, r.changed, r.factor = h, nil, factor
	return nil
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
			a.adapt(ctx, c.Step(a.clock()))
		}
	}
}

// adapt applies a decision about the rates, and tells of one that changes something.
func (a *Agent) adapt(ctx context.Context, change adaptive.Change) {
	a.changing.Lock()
	defer a.changing.Unlock()
	if ctx.Err() != nil || !change.Changed() && !a.state.unscaled {
		return // another configuration is in force, or all is as it should be
	}
	err := a.scale(change.Applied())
	a.state.unscaled = err != nil
	log := a.log.With("factor", change.Factor, "was", change.Was, "reason", change.Reason, "observe", change.Observed)
	if err != nil {
		log.Error("the rates were not changed", "error", err)
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
