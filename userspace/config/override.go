package config

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"
)

// readOverrides reads other limits for some values of the zone's key.
func (s *section) readOverrides(z *zone, m mapping) {
	v := m.field("overrides")
	if !v.given() {
		return
	}
	if z.Algorithm == Nginx {
		v.fail("to nginx all keys of a zone have one rate; remove overrides, or use algorithm: leaky")
		return
	}
	limit := "rate: 100r/s"
	if z.Algorithm == Concurrent {
		limit = "concurrent: 100"
	}
	elements, _ := v.list("{value: " + z.example() + ", " + limit + "}")
	seen := make(seenValues)
	for _, e := range elements {
		o, ok := s.readOverride(z, e)
		if ok && seen.add(e, o.Value) {
			z.Overrides = append(z.Overrides, o)
		}
	}
}

func (s *section) readOverride(z *zone, v value) (o Override, ok bool) {
	m, ok := v.mapping(overrideFields())
	if !ok {
		return o, false
	}
	if value := m.field("value"); value.given() {
		o.Value, ok = s.readValue(z, value, "an override")
	} else {
		m.lack(v, "no value; use "+v.form)
		ok = false
	}
	r, c := m.field("rate"), m.field("concurrent")
	switch {
	case z.Algorithm == Concurrent && r.given():
		r.fail("the zone limits requests at a time; use concurrent: 10")
	case z.Algorithm != Concurrent && c.given():
		c.fail("the zone limits a rate; use rate: 100r/s")
	case c.given():
		o.Slots = c.slots()
	case r.given():
		o.Quota = r.quota(z.Algorithm)
		z.rated(r, o.Quota)
	default:
		m.lack(v, "no limit; use "+v.form)
	}
	return o, ok
}

// readAllowed reads values of the zone's key that are not limited.
func (s *section) readAllowed(z *zone, m mapping) {
	v := m.field("allow")
	if !v.given() {
		return
	}
	elements, _ := v.list(z.example())
	seen := make(seenValues)
	for _, e := range elements {
		if value, ok := s.readValue(z, e, "an element of allow"); ok && seen.add(e, value) {
			z.Allow = append(z.Allow, value)
		}
	}
}

// example returns a value of the zone's key.
func (z *zone) example() string {
	texts := map[KeyKind]string{KeyIP: "192.0.2.7", KeyHost: "example.com", KeyPath: "/login", KeyMethod: "POST"}
	var parts []string
	for _, p := range z.Key {
		parts = append(parts, cmp.Or(texts[p.Kind], "gold"))
	}
	switch len(parts) {
	case 0:
		return "gold"
	case 1:
		return parts[0]
	default:
		return "[" + strings.Join(parts, ", ") + "]"
	}
}

// seenValues are values of a key, and the line of each.
type seenValues map[string]int

// add reports whether a value is new, and adds an error if not.
func (s seenValues) add(at value, v Value) bool {
	text := fmt.Sprintf("%q", v)
	if line, twice := s[text]; twice {
		at.fail("the same value as in line %d; remove one", line)
		return false
	}
	s[text] = at.node.Line
	return true
}

// readValue reads a value of the zone's key. each is what has one value.
func (s *section) readValue(z *zone, v value, each string) (Value, bool) {
	v.form = z.example()
	elements, ok := v.oneOrMore("a text")
	switch {
	case !ok || len(z.Key) == 0:
		return nil, false
	case len(elements) != len(z.Key) && len(z.Key) == 1:
		v.fail("%d values for a key of one part; use %s for each", len(elements), each)
		return nil, false
	case len(elements) == 1 && len(z.Key) > 1:
		v.fail("the key has %d parts, and there is 1 value; use %s", len(z.Key), v.form)
		return nil, false
	case len(elements) != len(z.Key):
		v.fail("the key has %d parts, and there are %d values; use %s", len(z.Key), len(elements), v.form)
		return nil, false
	}
	var parts Value
	for i, e := range elements {
		part, right := s.readValuePart(z, z.Key[i], e)
		ok = ok && right
		parts = append(parts, part)
	}
	return parts, ok
}

func (s *section) readValuePart(z *zone, k KeyPart, v value) (ValuePart, bool) {
	if k.Kind == KeyIP {
		v.form = "192.0.2.7, 192.0.2.0/24 or 2001:db8::/32"
		p, ok := s.source(z, v)
		return ValuePart{Prefix: p}, ok
	}
	text, ok := v.text()
	if !ok {
		return ValuePart{}, false
	}
	switch k.Kind {
	case KeyHost:
		text, ok = v.host(text)
	case KeyPath:
		ok = v.checkPath(text, "")
	case KeyMethod:
		text, ok = v.method()
	case KeyConst:
		if ok = text == k.Name; !ok {
			v.fail("%.40q is never the value of %.80s; use %.80s", text, k, k.Name)
		}
	}
	if ok && k.Kind != KeyConst && (strings.Contains(text, "*") || strings.HasPrefix(text, "~ ")) {
		v.warn("%.40q is taken as it stands; overrides and allow have no patterns", text)
	}
	return ValuePart{Text: text}, ok
}

// source returns a prefix of clients. An address stands for all that are counted together with
// it. What is narrower than that is an error, as the zone could not tell it from the rest.
func (s *section) source(z *zone, v value) (netip.Prefix, bool) {
	p, ok := v.prefix()
	if !ok {
		return p, false
	}
	bits := cmp.Or(z.IPv4Prefix, s.ClientIP.IPv4Prefix, DefaultIPv4Prefix)
	if p.Addr().Is6() {
		bits = cmp.Or(z.IPv6Prefix, s.ClientIP.IPv6Prefix, DefaultIPv6Prefix)
	}
	if p.Bits() <= bits {
		return p, true
	}
	key := netip.PrefixFrom(p.Addr(), bits).Masked()
	if strings.Contains(v.node.Value, "/") {
		v.fail("the zone counts all of %s together; use that", key)
		return p, false
	}
	return key, true
}
