package config

import "fmt"

func (s *section) readRules(v value) {
	if !v.given() {
		return
	}
	s.named = make(map[string]int)
	elements, _ := v.list("{limits: [{zone: NAME}]}")
	for i, e := range elements {
		m, ok := e.mapping(ruleFields())
		if !ok {
			continue
		}
		r := Rule{Name: fmt.Sprintf("rule %d", i+1), Line: e.node.Line}
		s.readRule(&r, m)
		s.Rules = append(s.Rules, r)
		s.rules = append(s.rules, e)
	}
}

func (s *section) readRule(r *Rule, m mapping) {
	if n := m.field("name"); n.given() {
		s.readRuleName(r, n)
	}
	if v := m.field("match"); v.given() {
		if match, ok := v.mapping(matchFields()); ok {
			r.Match = match.match()
		}
	}
	r.Status = int(m.count("status", 400, 599, DefaultStatus))
	r.OnStoreFailure = OnStoreFailure(m.choice("on_store_failure", storeFailures(), string(FailLocal)))
	if r.OnStoreFailure == FailClosed && !m.has("status") {
		r.FailStatus = DefaultFailStatus
	}
	r.DryRun = m.flag("dry_run")
	r.Continue = m.flag("continue")
	limits := m.field("limits")
	if !limits.given() {
		m.lack(m.value, "no limits; add limits: [{zone: NAME}], or limits: [] for no limit on what matches")
		return
	}
	r.Limits = s.readUses(limits)
	s.warnOfFailure(r, m)
	if len(limits.node.Content) == 0 && r.Continue {
		limits.warn("nothing is limited, and the rules below are looked at all the same: the rule does nothing; remove it, or its continue")
	}
}

func (s *section) readRuleName(r *Rule, v value) {
	name, ok := v.text()
	if !ok || !v.checkName(name) {
		return
	}
	if line, twice := s.named[name]; twice {
		v.fail("%q is the rule in line %d already; use another name", name, line)
		return
	}
	s.named[name] = v.node.Line
	r.Name = name
}
