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

// put writes the values of prefixes, in the order that package rulefilter asks for.
func (f *family) put(prefixes []netip.Prefix, values []bpf.Rule) error {
	for _, p := range prefixes {
		f.filter.Add(p)
		f.filter.Unblock(p)
	}
	if err := f.table.put(prefixes, values); err != nil {
		return err
	}
	for i, p := range prefixes {
		f.block(p, &values[i])
	}
	return nil
}

// block tells of a prefix that its value only blocks, if it does.
func (f *family) block(p netip.Prefix, value *bpf.Rule) {
	if value.Until[Allow] == 0 && value.Until[Block] != 0 {
		f.filter.Block(p, value.Until[Block])
	}
}

func (f *family) delete(p netip.Prefix) error {
	f.filter.Unblock(p)
	if err := f.table.delete(p); err != nil {
		return err
	}
	f.removed++
	return nil
}

// rebuild makes the filter anew, without what was removed. It also tells again what is only blocked,
// which whoever was killed may not have done.
func (f *family) rebuild() error {
	return f.filter.Rebuild(func(add func(netip.Prefix)) error {
		for e, err := range f.all() {
			if err != nil {
				return err
			}
			add(e.prefix)
			f.filter.Unblock(e.prefix)
			f.block(e.prefix, &e.value)
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
