package rulemap

import (
	"fmt"
	"maps"
	"net/netip"

	"github.com/headgate/headgate/maps/wire"
)

// Exchange removes rules and adds others as SetAll does, all of it or nothing where it returns an error. Of old the prefix, the
// action and the origin count; what the maps do not have of it is not missed. It returns those of fresh that were left
// out, as others hold there, and how many rules were lifted. Only what is named is read, but for what an Allow rule lifts.
func (m *Map) Exchange(old, fresh []Rule, progress func(done int)) (left []Rule, lifted int, err error) {
	_, err = m.commit(func() (changes, error) {
		x := exchange{m: m, now: m.now(), all: make(changes, len(old)+len(fresh))}
		if err := x.plan(old, fresh); err != nil {
			return nil, err
		}
		left, lifted = x.left, x.lifted
		return x.all, nil
	}, progress)
	if err != nil {
		return nil, 0, err
	}
	return left, lifted, nil
}

// exchange is an Exchange that is planned.
type exchange struct {
	m      *Map
	now    uint64
	all    changes
	left   []Rule
	lifted int
}

func (x *exchange) plan(old, fresh []Rule) (err error) {
	for _, rule := range old {
		if err := x.remove(rule); err != nil {
			return err
		}
	}
	var people Allowed
	for _, rule := range fresh {
		rule.Prefix = wire.Prefix(rule.Prefix)
		people.Add(rule)
		if err := x.add(rule); err != nil {
			return err
		}
	}
	if x.lifted, err = x.m.liftAll(x.all, &people, x.now); err != nil {
		return err
	}
	x.all.dropSame()
	maps.DeleteFunc(x.all, func(_ netip.Prefix, c *change) bool {
		c.remove = !holds(&c.after, x.now)
		return c.remove && c.before == nil
	})
	return nil
}

func (x *exchange) remove(rule Rule) error {
	c, err := x.changeOf(wire.Prefix(rule.Prefix))
	if err == nil && Origin(c.after.Origin[rule.Action]) == rule.Origin {
		clearAction(&c.after, rule.Action)
	}
	return err
}

func (x *exchange) add(rule Rule) error {
	c, err := x.changeOf(rule.Prefix)
	if err != nil {
		return err
	}
	applied, err := rule.apply(&c.after, x.now)
	if err != nil {
		return fmt.Errorf("rule of %s: %w", rule.Prefix, err)
	}
	if !applied {
		x.left = append(x.left, rule)
	}
	return nil
}

// changeOf returns the change of a prefix, which is none at first.
func (x *exchange) changeOf(p netip.Prefix) (*change, error) {
	if c, known := x.all[p]; known {
		return c, nil
	}
	c := &change{}
	value, existed, err := x.m.family(p).find(p)
	if err != nil {
		return nil, err
	}
	if existed {
		c.before, c.after = &value, value
	}
	x.all[p] = c
	return c, nil
}
