package rulemap

import (
	"errors"
	"net/netip"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/rulefilter"
	"github.com/headgate/headgate/maps/wire"
)

// family is the rules of one family, with what stands before them.
type family struct {
	table
	number uint8
	maps   rulefilter.Maps

	// While something is changed. Readers need neither.
	filter  *rulefilter.Filter
	removed uint64 // prefixes that are in the filter still, and not counted yet
}

// changing calls do, which changes rules, with the filters open.
func (m *Map) changing(do func() error) (err error) {
	g, err := m.readGlobal()
	if err != nil {
		return err
	}
	for _, f := range m.families() {
		if err := f.open(g.Salt); err != nil {
			return errors.Join(err, m.close())
		}
	}
	defer func() { err = errors.Join(err, m.close()) }()
	return do()
}

func (m *Map) close() error {
	var errs []error
	for _, f := range m.families() {
		if f.filter != nil {
			errs = append(errs, f.filter.Close())
			f.filter = nil
		}
	}
	return errors.Join(errs...)
}

func (f *family) open(salt wire.Salt) (err error) {
	f.filter, err = rulefilter.Open(f.maps, f.number, salt)
	return err
}

// find is get without a system call for most prefixes that have no rule.
func (f *family) find(p netip.Prefix) (bpf.Rule, bool, error) {
	if !f.filter.Has(p) {
		return bpf.Rule{}, false, nil
	}
	return f.get(p)
}

// put writes the values of prefixes.
func (f *family) put(prefixes []netip.Prefix, values []bpf.Rule) error {
	after := func(i int) rulefilter.State { return stateOf(&values[i]) }
	return f.filter.Change(prefixes, after, func() error { return f.table.put(prefixes, values) })
}

func (f *family) delete(p netip.Prefix) error {
	gone := func(int) rulefilter.State { return rulefilter.Gone }
	err := f.filter.Change([]netip.Prefix{p}, gone, func() error { return f.table.delete(p) })
	if err == nil {
		f.removed++
	}
	return err
}

// stateOf returns what the filter has to know of a value.
func stateOf(value *bpf.Rule) rulefilter.State {
	if value.Until == [bpf.ActionLen]uint64{Block: Forever} {
		return rulefilter.Blocked
	}
	return rulefilter.Other
}

// rebuild makes the filter anew, without what was removed.
func (f *family) rebuild() error {
	err := f.filter.Rebuild(func(add func(netip.Prefix)) error {
		for e, err := range f.all() {
			if err != nil {
				return err
			}
			add(e.prefix)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return f.filter.Complete(func(tell func(netip.Prefix, rulefilter.State)) error {
		for e, err := range f.all() {
			if err != nil {
				return err
			}
			tell(e.prefix, stateOf(&e.value))
		}
		return nil
	})
}

// fewStale is how many prefixes may be in a filter in vain, beside half of those that are not. Making
// it anew means to wait for all CPUs, and to read all rules.
const fewStale = 64

// tidy makes the filters anew where they are worth it.
func (m *Map) tidy() error {
	g, err := m.readGlobal()
	if err != nil {
		return err
	}
	for _, f := range m.families() {
		live, stale := f.counts(&g)
		if *stale <= fewStale+*live/2 {
			continue
		}
		if err := f.rebuild(); err != nil {
			return err
		}
		if err := m.count(func(g *bpf.Global) error {
			_, stale := f.counts(g)
			*stale = 0
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// counts returns where a family's prefixes are counted, and those that were removed.
func (f *family) counts(g *bpf.Global) (live, stale *uint64) {
	if f.number == uint8(bpf.FamilyIPv4) {
		return &g.Rules4, &g.Stale4
	}
	return &g.Rules6, &g.Stale6
}
