package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/headgate/headgate/userspace/rate"
)

const (
	// maxUnits bounds bursts, costs and requests at a time, far above what is sensible, so
	// that no algorithm has to think of overflow in thousandths of a request.
	maxUnits = 1e9
	// maxKeys bounds what all zones together remember: about 10 GB.
	maxKeys = 100e6
)

func (s *section) readZones(v value) {
	s.byName = make(map[string]*zone)
	if !v.given() {
		return
	}
	entries, _ := v.entries()
	for _, e := range entries {
		e.value.form = "{key: ip, rate: 10r/s}"
		before := len(v.file.errors)
		z := &zone{at: e.key, index: len(s.Zones), Zone: Zone{Name: e.name, Line: e.key.node.Line}}
		e.key.checkName(e.name)
		if m, ok := e.value.mappingOr(zoneFields(), z.unknownField); ok {
			s.readZone(z, m)
		}
		z.right = len(v.file.errors) == before
		s.byName[e.name] = z
		s.Zones = append(s.Zones, z.Zone)
	}
}

// unknownField words that a zone has no such field. Who comes from elsewhere looks here for what
// is said where the zone is used.
func (z *zone) unknownField(name string) string {
	example := map[string]string{
		"burst": "burst: 20", "nodelay": "burst: 20, nodelay: true", "delay": "burst: 20, delay: 8", "cost": "cost: 2",
	}[name]
	if example == "" {
		return "unknown field " + choices(name, names(zoneFields()))
	}
	return fmt.Sprintf("%s is of a limit; use rules: [{limits: [{zone: %.64s, %s}]}]", name, z.Name, example)
}

func (s *section) readZone(z *zone, m mapping) {
	if k := m.field("key"); k.given() {
		z.Key = k.keyParts()
	} else {
		m.lack(z.at, "no key; add key: ip, or what else requests are counted by")
	}
	s.readKeyPrefixes(z, m)
	z.readAlgorithm(m)
	z.readLimit(m)
	z.MaxKeys = int(m.count("max_keys", 1, maxKeys, DefaultMaxKeys))
	if z.Algorithm == Concurrent {
		if k := m.field("max_keys"); k.given() {
			k.fail("requests under way are all remembered; remove max_keys")
		}
		z.MaxKeys = 0
	}
	s.checkMaxKeys(z, m)
	s.readStore(z, m)
	s.readOverrides(z, m)
	s.readAllowed(z, m)
}

// checkMaxKeys tells of each zone for which the memory of all does not suffice.
func (s *section) checkMaxKeys(z *zone, m mapping) {
	if s.keys+z.MaxKeys <= maxKeys {
		s.keys += z.MaxKeys
		return
	}
	at := z.at
	if k := m.field("max_keys"); k.given() {
		at = k
	}
	at.fail("with the zones above more than %s keys are remembered; use a smaller max_keys", rate.FormatCount(maxKeys))
}

// readKeyPrefixes reads how much of an address is the key.
func (s *section) readKeyPrefixes(z *zone, m mapping) {
	hasIP := slices.ContainsFunc(z.Key, func(p KeyPart) bool { return p.Kind == KeyIP })
	for _, name := range []string{"ipv4_prefix", "ipv6_prefix"} {
		if f := m.field(name); f.given() && len(z.Key) > 0 && !hasIP {
			f.fail("the zone's key has no ip; remove %s", name)
		}
	}
	z.IPv4Prefix = int(m.count("ipv4_prefix", 1, 32, 0))
	z.IPv6Prefix = int(m.count("ipv6_prefix", 1, 128, 0))
}

// readAlgorithm reads how the zone counts, which is as the limit is written or by algorithm.
func (z *zone) readAlgorithm(m mapping) {
	z.Algorithm = Leaky
	if m.has("concurrent") {
		z.Algorithm = Concurrent
	}
	a := m.field("algorithm")
	if !a.given() {
		return
	}
	text, ok := a.text()
	switch {
	case !ok:
	case text == string(Concurrent):
		a.fail("how many requests at a time is said without algorithm; use concurrent: 10 alone")
	case !slices.Contains(algorithms(), text):
		a.fail("unknown algorithm %s", choices(text, algorithms()))
	case m.has("concurrent"):
		a.fail("%s counts a rate; remove algorithm, or use rate in place of concurrent", text)
	default:
		z.Algorithm = Algorithm(text)
	}
}

// algorithms returns those that a zone with a rate may name.
func algorithms() []string {
	return []string{string(Leaky), string(Nginx), string(Window), string(Sliding), string(Sketch)}
}

// readLimit reads the rate, or how many requests at a time.
func (z *zone) readLimit(m mapping) {
	r, c := m.field("rate"), m.field("concurrent")
	switch {
	case r.given() && c.given():
		c.fail("a zone has a rate or concurrent; use two zones for both")
	case c.given():
		z.Slots = c.slots()
	case r.given():
		z.Quota = r.quota(z.Algorithm)
		z.rated(r, z.Quota)
	default:
		m.lack(z.at, "no limit; add rate: 10r/s, or concurrent: 10")
	}
}

// slots returns how many requests may be under way at a time.
func (v value) slots() uint64 { return v.count(1, maxUnits) }

// zoneNames returns the names of all zones, sorted.
func (s *section) zoneNames() []string { return slices.Sorted(maps.Keys(s.byName)) }
