package config

// readUses reads the zones that a rule uses.
func (s *section) readUses(v value) []Use {
	elements, _ := v.list("{zone: NAME, burst: 20}")
	first := make(map[string]int)
	var uses []Use
	for _, e := range elements {
		m, ok := e.mapping(useFields())
		if !ok {
			continue
		}
		before := len(v.file.errors)
		z, u := s.zoneOf(m), m.use()
		if z == nil {
			continue
		}
		if line, twice := first[z.Name]; twice {
			m.field("zone").fail("%s limits this rule in line %d already; remove one", z.Name, line)
			continue
		}
		u.Zone, u.Line = z.index, e.node.Line
		first[z.Name] = u.Line
		if len(v.file.errors) == before {
			z.checkUse(m, u)
		}
		z.uses = append(z.uses, usedAs{m, u})
		uses = append(uses, u)
	}
	return uses
}

// zoneOf returns the zone that a use names, nil if there is none.
func (s *section) zoneOf(m mapping) *zone {
	v := m.field("zone")
	if !v.given() {
		m.lack(m.value, "no zone; use "+m.form)
		return nil
	}
	name, ok := v.text()
	if !ok {
		return nil
	}
	z := s.byName[name]
	if z == nil {
		v.fail("unknown zone %s", choices(name, s.zoneNames()))
	}
	return z
}

// use returns what a use says of burst, delay and cost.
func (m mapping) use() Use {
	u := Use{
		Burst: m.count("burst", 0, maxUnits, 0),
		Delay: m.count("delay", 0, maxUnits, 0),
		Cost:  m.count("cost", 1, maxUnits, 1),
	}
	if m.flag("nodelay") {
		u.Delay = u.Burst
	}
	return u
}
