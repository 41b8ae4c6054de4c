package plane

import (
	"testing"

	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/config"
)

// setDefault sets the default limit as `headgate set default` does.
func (l *lab) setDefault(limit wire.Limit) {
	l.Helper()
	l.cli(func(i *loader.Instance) error {
		c, err := i.Policies().Load()
		if err != nil {
			return err
		}
		stats, err := i.Stats()
		if err != nil {
			return err
		}
		p, _ := c.Policy(policymap.Default)
		p.Limit = limit
		return firstOf(c.Set(p, stats.Slots()), func() error { return i.Policies().Store(c) })
	})
}

func (l *lab) wantDefault(want wire.Limit) {
	l.Helper()
	s := l.state()
	if p, _ := s.Config.Policy(policymap.Default); p.Limit != want {
		l.Errorf("the default limit is %s, want %s", p.Limit, want)
	}
}

// A default limit that was set by hand stays until the file has another one.
func TestDefaultSetByHand(t *testing.T) {
	l := newLab(t)
	l.apply(defaultLimit(100))
	l.setDefault(wireTo(7))
	for range 2 { // the second time it is no news any more
		l.apply(defaultLimit(100), policy("dns", 53, 3))
		l.wantDefault(wireTo(7))
	}
	l.must(l.plane.Scale(1))
	l.wantDefault(wireTo(7))

	l.must(l.plane.SetPolicy(config.Policy{Name: policymap.Default, Limit: limitTo(9)})) // by the API
	l.apply(defaultLimit(100))
	l.wantDefault(wireTo(9))

	l.apply(defaultLimit(50))
	l.wantDefault(wireTo(50))
	l.setDefault(wireTo(7))
	l.restart()
	l.apply(defaultLimit(50))
	l.wantDefault(wireTo(50))
}

// It is scaled from there, once the factor moves.
func TestDefaultSetByHandIsScaled(t *testing.T) {
	l := newLab(t)
	l.apply(defaultLimit(100))
	l.must(l.plane.Scale(0.5))
	l.wantDefault(scaled(wireTo(100), 0.5))
	l.setDefault(wireTo(40))
	l.must(l.plane.Scale(0.5))
	l.wantDefault(wireTo(40))
	l.apply(defaultLimit(100))
	l.apply(defaultLimit(100))
	l.wantDefault(wireTo(40))
	l.must(l.plane.Scale(0.25))
	l.wantDefault(scaled(wireTo(40), 0.25))
	l.apply(defaultLimit(100))
	l.wantDefault(scaled(wireTo(40), 0.25))
	l.apply(defaultLimit(60))
	l.wantDefault(scaled(wireTo(60), 0.25))
}

// What another instance has was not set by hand: that is made by somebody who does not know the file.
func TestDefaultOfAnotherInstance(t *testing.T) {
	l := newLab(t)
	l.apply(defaultLimit(100))
	l.madeByOthers(defaultLimit(7))
	l.apply(defaultLimit(100))
	l.wantDefault(wireTo(100))
	l.madeByOthers(defaultLimit(7))
	l.must(l.plane.Scale(0.5))
	l.wantDefault(scaled(wireTo(100), 0.5))
}

// madeByOthers removes the instance, and has somebody else make another one.
func (l *lab) madeByOthers(changes ...func(*config.Kernel)) {
	l.Helper()
	l.cli(func(i *loader.Instance) error { return i.RemoveAll() })
	other := &lab{T: l.T, pair: l.pair, host: l.host, dir: l.dir, log: l.log}
	other.restart()
	other.apply(changes...)
	l.must(other.plane.Close())
}
