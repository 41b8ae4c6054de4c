package ruleset

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/headgate/headgate/userspace/config"
)

// values finds the first of a list of values that a key has, in one look-up for each
// length of prefix that the list has: in one for keys without an address.
type values struct {
	parts  []part
	tables []table
}

// table has the values whose prefixes are of one length.
type table struct {
	bits  int            // noAddress for keys without one
	first map[string]int // by the key that the value is of: its place in the list
}

const noAddress = -1

// add makes value the i-th of the list. Of the same value twice the first counts.
func (v *values) add(value config.Value, i int) error {
	if len(value) != len(v.parts) {
		return fmt.Errorf("value %d has %d parts and the key has %d; write one for each", i+1, len(value), len(v.parts))
	}
	bits := noAddress
	var client netip.Prefix
	texts := make([]string, len(value))
	for j, element := range value {
		if v.parts[j].take != nil {
			texts[j] = v.parts[j].canonical(element.Text)
			continue
		}
		var err error
		if client, err = unmapped(element.Prefix); err != nil {
			return fmt.Errorf("value %d: %w", i+1, err)
		}
		bits = client.Bits()
	}
	first := v.table(bits)
	key := string(appendKey(nil, v.parts, texts, client))
	if _, has := first[key]; !has {
		first[key] = i
	}
	return nil
}

// table returns the values whose prefixes are of bits.
func (v *values) table(bits int) map[string]int {
	i := slices.IndexFunc(v.tables, func(t table) bool { return t.bits == bits })
	if i < 0 {
		i = len(v.tables)
		v.tables = append(v.tables, table{bits, map[string]int{}})
	}
	return v.tables[i].first
}

// place returns the place of the value that is key, whose prefix is of bits.
func (v *values) place(bits int, key string) (int, bool) {
	for i := range v.tables {
		if v.tables[i].bits == bits {
			place, has := v.tables[i].first[key]
			return place, has
		}
	}
	return 0, false
}

// canonical returns s as read has the texts of the part.
func (p *part) canonical(s string) string {
	switch {
	case p.kind == config.KeyHost, p.kind == config.KeyHeader && p.name == "Host":
		s = canonicalHost(s)
	case p.kind == config.KeyPath:
		s = canonicalPath(s)
	}
	if len(s) > longest {
		s, _ = shortened(s, nil)
	}
	return s
}

// find returns the place of the first value that the key of texts and client has, -1 if there is
// none, and buf, which may have grown.
func (v *values) find(texts []string, client netip.Addr, buf []byte) (int, []byte) {
	found := -1
	from := len(buf)
	for i := range v.tables {
		t := &v.tables[i]
		prefix, ok := t.prefix(client)
		if !ok {
			continue
		}
		buf = appendKey(buf[:from], v.parts, texts, prefix)
		if n, has := t.first[string(buf[from:])]; has && (found < 0 || n < found) {
			found = n
		}
	}
	return found, buf[:from]
}

// prefix returns the beginning of addr that the values have, and false if addr is shorter.
func (t *table) prefix(addr netip.Addr) (netip.Prefix, bool) {
	switch {
	case t.bits == noAddress:
		return netip.Prefix{}, true
	case t.bits > addr.BitLen(): // an error of Prefix would be an allocation
		return netip.Prefix{}, false
	}
	prefix, err := addr.Prefix(t.bits)
	return prefix, err == nil
}

// unmapped returns p with IPv4 as such.
func unmapped(p netip.Prefix) (netip.Prefix, error) {
	if !p.IsValid() {
		return p, errors.New("no prefix for the ip; write one as 203.0.113.0/24")
	}
	if addr := p.Addr(); addr.Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(addr.Unmap(), p.Bits()-96)
	}
	return p, nil
}
