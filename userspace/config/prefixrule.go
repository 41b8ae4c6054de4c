package config

import (
	"net/netip"
	"slices"
)

// ruledPrefix is a place for a rule: there is one for each action at a prefix.
type ruledPrefix struct {
	prefix netip.Prefix
	action Action
}

// ruling is what a rule says of its prefixes.
type ruling struct {
	Action
	limit  KernelLimit
	policy string
}

func (s *kernelSection) readRules(v value) {
	if !v.given() {
		return
	}
	elements, _ := v.list("{prefix: 192.0.2.0/24, block: true}")
	for _, e := range elements {
		m, ok := e.mapping(prefixRuleFields())
		if !ok {
			continue
		}
		r := s.ruling(m)
		p := m.field("prefix")
		if !p.given() {
			m.lack(e, "no prefix; add prefix: 192.0.2.0/24, or what the rule is for")
			continue
		}
		prefixes, _ := p.oneOrMore(prefixForm)
		for _, at := range prefixes {
			if prefix, ok := at.prefix(); ok && r.Action != "" {
				s.add(at, PrefixRule{Prefix: prefix, Action: r.Action, Limit: r.limit, Policy: r.policy, Line: at.node.Line})
			}
		}
	}
}

func (s *kernelSection) readRuleFiles(v value) {
	if !v.given() {
		return
	}
	elements, _ := v.list("{file: blocked.txt, block: true}")
	first := make(map[RuleFile]int)
	for _, e := range elements {
		m, ok := e.mapping(ruleFileFields())
		if !ok {
			continue
		}
		r := s.ruling(m)
		f := RuleFile{Path: m.filePath("file"), Action: r.Action, Limit: r.limit, Policy: r.policy, Line: e.node.Line}
		if !m.has("file") {
			m.lack(e, "no file; add file: blocked.txt, or where the prefixes are")
		}
		same := RuleFile{Path: f.Path, Action: f.Action}
		if line, twice := first[same]; twice && f.Path != "" {
			m.field("file").fail("the same file as in line %d; remove one", line)
			continue
		}
		first[same] = f.Line
		s.RuleFiles = append(s.RuleFiles, f)
	}
}

// ruling returns what is said of prefixes. Its action is empty if it is wrong.
func (s *kernelSection) ruling(m mapping) ruling {
	r := ruling{policy: s.policyOf(m)}
	var given []value
	for _, a := range []Action{Limit, Allow, Block} {
		v := m.field(string(a))
		if !v.given() {
			continue
		}
		given = append(given, v)
		before := len(v.file.errors)
		if a == Limit {
			r.limit = v.limit()
		} else if !v.flag() && len(v.file.errors) == before {
			v.fail("false says nothing; remove the rule, or use true")
		}
		if len(v.file.errors) == before {
			r.Action = a
		}
	}
	switch {
	case len(given) == 0:
		m.lack(m.value, "no action; add limit: {rate: 100pps}, allow: true or block: true")
	case len(given) > 1:
		given[1].fail("a rule has one action; remove %s or %s", lastOf(given[0].path), lastOf(given[1].path))
		r.Action = ""
	case r.Action != "" && r.Action != Limit && m.has("policy"):
		m.field("policy").fail("only a limit takes the place of a policy's; remove policy")
	}
	return r
}

// policyOf returns the policy that a rule names, empty for the default one.
func (s *kernelSection) policyOf(m mapping) string {
	v := m.field("policy")
	if !v.given() {
		return ""
	}
	name, ok := v.text()
	if _, known := s.policies[name]; ok && !known {
		v.fail("unknown policy %s", choices(name, s.policyNames()))
	}
	if name == policyDefault {
		return ""
	}
	return name
}

// add adds a rule, or an error if there is no place for it.
func (s *kernelSection) add(at value, r PrefixRule) {
	place := ruledPrefix{r.Prefix, r.Action}
	line, twice := s.ruled[place]
	switch {
	case twice:
		at.fail("line %d has a rule to %s %s already; remove one", line, r.Action, r.Prefix)
	case r.Action == Limit && !s.checkWhole(at, r.Prefix):
	default:
		s.ruled[place] = r.Line
		s.Rules = append(s.Rules, r)
		s.rules = append(s.rules, at)
	}
}

// checkWhole adds an error for a limit of a part of a source: the source has one bucket, and each of two limits would
// forgive what it owes by the other.
func (s *kernelSection) checkWhole(at value, prefix netip.Prefix) bool {
	bits := s.sourceBits(prefix.Addr())
	if !s.right || prefix.Bits() <= bits {
		return true
	}
	field := "ipv4_prefix"
	if prefix.Addr().Is6() {
		field = "ipv6_prefix"
	}
	at.fail("sources are /%d, so %s is a part of one; limit %s, or use %s: %d",
		bits, prefix, netip.PrefixFrom(prefix.Addr(), bits).Masked(), field, prefix.Bits())
	return false
}

// sourceBits returns how many bits of an address like this make a source. Link-local ones are never cut.
func (k *Kernel) sourceBits(a netip.Addr) int {
	switch {
	case a.Is4():
		return k.IPv4Prefix
	case netip.MustParsePrefix("fe80::/64").Contains(a):
		return a.BitLen()
	default:
		return k.IPv6Prefix
	}
}

// checkShadowed warns of rules that never decide, as another one at their prefix goes before them, and of those that
// keep out everybody.
func (s *kernelSection) checkShadowed() {
	order := []Action{Allow, Block, Limit}
	for i, r := range s.Rules {
		for _, before := range order[:slices.Index(order, r.Action)] {
			if line, ok := s.ruled[ruledPrefix{r.Prefix, before}]; ok {
				s.rules[i].warn("never decides, as at one prefix %s goes before %s, in line %d; remove one", before, r.Action, line)
				break
			}
		}
		if r.Action == Block && r.Prefix.Bits() == 0 {
			s.rules[i].warn("%s is every address of its family; all of them are dropped but for those with a rule of their own", r.Prefix)
		}
	}
}
