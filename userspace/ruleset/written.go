package ruleset

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/headgate/headgate/userspace/config"
)

// key is a key of a zone as it was asked for.
type key struct {
	text   string // as it is charged
	tag    string // by which a store finds it
	quota  int    // of which quota of the zone
	exempt bool
}

// find returns a zone and the key in it that people write as texts.
func (l *Live) find(zone string, written []string) (*zone, key, error) {
	z, err := l.zone(zone)
	if err != nil {
		return nil, key{}, err
	}
	k, err := z.key(written)
	if err != nil {
		return nil, key{}, fmt.Errorf("zone %q: %w", zone, err)
	}
	return z, k, nil
}

// key returns the key that people write as texts.
func (z *zone) key(written []string) (k key, err error) {
	written, err = z.complete(written)
	if err != nil {
		return k, err
	}
	var client netip.Addr
	texts := make([]string, len(written))
	for i := range z.parts {
		p := &z.parts[i]
		switch {
		case p.take == nil:
			client, err = z.addr(written[i])
		case written[i] == "" && p.optional:
			err = errors.New("is empty; requests without it are not limited")
		default:
			texts[i] = p.canonical(written[i])
		}
		if err != nil {
			return k, fmt.Errorf("part %d of the key, %s, %w", i+1, p, err)
		}
	}
	k.text = string(appendKey(nil, z.parts, texts, z.client(client)))
	if z.common != nil {
		k.tag, _ = z.common.tag.of(z, k.text, texts, z.client(client), nil)
	}
	n, _ := z.exempt.find(texts, client, nil)
	k.exempt = n >= 0
	if n, _ := z.overrides.find(texts, client, nil); n >= 0 {
		k.quota = z.quotaOf[n]
	}
	return k, nil
}

// complete returns written with the constant parts of the key, which may have been left out.
func (z *zone) complete(written []string) ([]string, error) {
	if len(written) == len(z.parts) {
		return written, nil
	}
	var all, names []string
	rest := written
	for i := range z.parts {
		p := &z.parts[i]
		names = append(names, p.String())
		switch {
		case p.kind == config.KeyConst:
			all = append(all, p.name)
		case len(rest) > 0:
			all, rest = append(all, rest[0]), rest[1:]
		}
	}
	if len(all) != len(z.parts) || len(rest) > 0 {
		return nil, fmt.Errorf("its key has %d parts (%s), and not %d", len(z.parts), strings.Join(names, ", "), len(written))
	}
	return all, nil
}

// String returns the part as the configuration has it.
func (p *part) String() string {
	if p.name == "" {
		return string(p.kind)
	}
	return string(p.kind) + ":" + p.name
}

// addr reads an address, or a prefix of one key's addresses.
func (z *zone) addr(s string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(s)
	if err == nil {
		return addr.Unmap().WithZone(""), nil
	}
	prefix, err := netip.ParsePrefix(s)
	if err == nil {
		prefix, err = unmapped(prefix)
	}
	if err != nil {
		return netip.Addr{}, fmt.Errorf("is %q, which is no address; write 192.0.2.1 or 2001:db8::1", s)
	}
	addr = prefix.Addr()
	if bits := z.client(addr).Bits(); prefix.Bits() < bits || addr.Is4In6() { // the latter is more than all of IPv4
		return netip.Addr{}, fmt.Errorf("is %q, which has many keys; write an address, or a prefix of /%d", s, bits)
	}
	return addr, nil
}
