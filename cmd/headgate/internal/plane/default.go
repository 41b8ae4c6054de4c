package plane

import (
	"fmt"
	"math"

	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/wire"
)

// standing is the default limit as this process has written it last, so that it sees what was set by hand since.
type standing struct {
	instance *loader.Instance // where; nil before the first Apply. It may be closed
	base     wire.Limit       // what the factor multiplies
	limit    wire.Limit       // as it came out
	factor   float64
}

// changedTo says whether somebody else has made the default limit of i another one.
func (s *standing) changedTo(i *loader.Instance, limit wire.Limit) bool {
	return s.instance != nil && s.instance.Same(i) && s.limit != limit
}

func (p *Plane) factor() float64 {
	p.applied.mu.Lock()
	defer p.applied.mu.Unlock()
	return p.applied.def.factor
}

// defaultOf returns the default limit that i has.
func defaultOf(i *loader.Instance) (wire.Limit, error) {
	config, err := i.Policies().Load()
	if err != nil {
		return wire.Limit{}, err
	}
	policy, _ := config.Policy(policymap.Default)
	return policy.Limit, nil
}

// byHand leaves the default limit as it is where the file has the same one as the file before: it may have been set by hand.
func (p *Plane) byHand(i *loader.Instance, before *policymap.Config, want *plan) {
	p.applied.mu.Lock()
	defer p.applied.mu.Unlock()
	def, file := &p.applied.def, p.applied.file
	policy, ok := before.Policy(policymap.Default)
	if !ok || file == nil || file.Default != want.file.Default || !def.instance.Same(i) {
		return
	}
	if want.base, want.limit = def.base, policy.Limit; def.changedTo(i, policy.Limit) {
		want.base = policy.Limit
	}
	want.byHand = want.base != limitOf(want.file.Default)
}

// Scale sets the default limit to factor times that of the last Apply, its rates and bursts; or times what was set by
// hand since. Buckets and counters stay.
func (p *Plane) Scale(factor float64) error {
	if factor <= 0 || math.IsNaN(factor) {
		return fmt.Errorf("factor %v on the rates: it must be above 0", factor)
	}
	p.applied.mu.Lock()
	never := p.applied.file == nil
	p.applied.mu.Unlock()
	if !never {
		if err := p.changed(func(i *loader.Instance) error { return p.scale(i, factor) }); err != nil {
			return fmt.Errorf("scale the default limit by %v: %w", factor, guarded(err))
		}
	}
	p.applied.mu.Lock()
	defer p.applied.mu.Unlock()
	p.applied.def.factor = factor
	return nil
}

// scale brings base times a factor into force. A limit that was set by hand is in force until the factor moves.
func (p *Plane) scale(i *loader.Instance, factor float64) error {
	limit, err := defaultOf(i)
	if err != nil {
		return err
	}
	p.applied.mu.Lock()
	def := p.applied.def
	p.applied.mu.Unlock()
	if def.changedTo(i, limit) {
		def.base = limit
	}
	if factor != def.factor || !def.instance.Same(i) {
		policy := policymap.Policy{Name: policymap.Default, Limit: scaled(def.base, factor)}
		if err := p.setPolicy(i, policy, keepOverflow); err != nil {
			return err
		}
		if limit, err = defaultOf(i); err != nil {
			return err
		}
		def.instance = i
	}
	p.applied.mu.Lock()
	defer p.applied.mu.Unlock()
	p.applied.def = standing{instance: def.instance, base: def.base, limit: limit, factor: factor}
	return nil
}
