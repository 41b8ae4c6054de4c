package config

import "time"

// section is the http section while it is read.
type section struct {
	HTTP
	byName map[string]*zone
	keys   int            // that zones remember, in all
	named  map[string]int // line of the rule with that name
	rules  []value        // where HTTP.Rules are
	// hasRedis says that there are servers for zones of StoreRedis.
	hasRedis bool
}

// zone is a zone while the section is read.
type zone struct {
	Zone
	at    value
	index int   // in HTTP.Zones
	lease value // where Zone.Lease is
	right bool
	rates []rated // each rate of the zone and its overrides once
	known map[interval]bool
	uses  []usedAs
}

// interval is a rate without how it is written.
type interval struct {
	count uint64
	per   time.Duration
}

// rated is a rate and where it is first given.
type rated struct {
	at value
	Quota
}

// usedAs is a use of a zone and where it is.
type usedAs struct {
	at mapping
	Use
}

func (s *section) read(v value) {
	m, ok := v.mapping(httpFields())
	if !ok {
		return
	}
	if c := m.field("client_ip"); c.given() {
		s.readClientIP(c)
	}
	if a := m.field("allow"); a.given() {
		s.Allow, _ = a.prefixes()
	}
	s.Headers = HeaderStyle(m.choice("headers", headerStyles(), string(DefaultHeaders)))
	s.readZones(m.field("zones"))
	s.readRules(m.field("rules"))
	s.checkZones()
	s.checkRules()
}

func headerStyles() []string {
	return []string{string(HeadersDraft10), string(HeadersPolli), string(HeadersXRateLimit), string(HeadersXRate), string(HeadersOff)}
}
