package config

import (
	"strconv"
	"strings"

	"github.com/headgate/headgate/userspace/ipproto"
)

const (
	// policyDefault is the name of the policy that every IP packet matches.
	policyDefault = "default"
	// maxPolicies is how many the kernel has room for, beside the default one.
	maxPolicies = 7
	// maxPolicyName is the longest name of a policy, in bytes.
	maxPolicyName = 31

	keySource = "source"
	keyShared = "shared"
)

func policyKeys() []string { return []string{keySource, keyShared} }

// packets is what a policy matches and counts by: two that have it in common would be one.
type packets struct {
	proto           string // its number, empty for any
	first, last     uint16
	syn, unverified bool
	shared, dryRun  bool
}

func (s *kernelSection) readPolicies(v value) {
	s.policies[policyDefault] = 0
	s.matches[packets{}] = 0
	if !v.given() {
		return
	}
	elements, _ := v.list("{name: dns, proto: udp, port: 53, rate: 50pps}")
	if len(elements) > maxPolicies {
		v.fail("%d policies; the kernel has room for %d beside the default one", len(elements), maxPolicies)
	}
	for _, e := range elements {
		if m, ok := e.mapping(policyFields()); ok {
			before := len(v.file.errors)
			p := s.policy(m)
			if len(v.file.errors) == before {
				s.checkMatch(e, p)
			}
			s.Policies = append(s.Policies, p)
		}
	}
}

func (s *kernelSection) policy(m mapping) Policy {
	p := Policy{Line: m.node.Line, SYN: m.flag("syn"), Unverified: m.flag("unverified"), DryRun: m.flag("dry_run")}
	if n := m.field("name"); n.given() {
		p.Name = s.policyName(n)
	} else {
		m.lack(m.value, "no name; add name: dns, or what the policy is for")
	}
	p.Proto, p.Protocol = m.protocol()
	p.FirstPort, p.LastPort = m.ports()
	p.Shared = m.choice("key", policyKeys(), keySource) == keyShared
	p.Overflow = m.overflow(s.Overflow)
	p.Limit = m.limit()
	m.checkLimited()
	m.checkProtocol(p)
	return p
}

func (s *kernelSection) policyName(v value) string {
	const allowed = "abcdefghijklmnopqrstuvwxyz0123456789-_"
	name, ok := v.text()
	if !ok {
		return ""
	}
	line, twice := s.policies[name]
	switch {
	case len(name) > maxPolicyName || strings.Trim(name, allowed) != "":
		v.fail("%.40q cannot be the name of a policy; use 1 to %d of a-z, 0-9, - and _", name, maxPolicyName)
	case name == policyDefault:
		v.fail("the default policy is written as kernel.default; use another name, or move the limit there")
	case twice:
		v.fail("%s is the policy in line %d already; use another name", name, line)
	default:
		s.policies[name] = v.node.Line
		return name
	}
	return ""
}

// protocol returns an IP protocol as it is written, and its number.
func (m mapping) protocol() (string, uint8) {
	v := m.field("proto")
	if !v.given() {
		return "", 0
	}
	text, ok := v.text()
	if !ok {
		return "", 0
	}
	number, ok := ipproto.Parse(text)
	switch {
	case text == "any":
		v.fail("any protocol is said by leaving it out; remove proto")
	case !ok:
		v.fail("unknown protocol %s", choices(text, append(ipproto.Names(), "a number up to 255")))
	default:
		return text, number
	}
	return "", 0
}

// ports returns a range of ports, 0 for any.
func (m mapping) ports() (first, last uint16) {
	v := m.field("port")
	if !v.given() {
		return 0, 0
	}
	text, ok := v.text()
	if !ok {
		return 0, 0
	}
	first, last, err := ipproto.ParsePorts(text)
	switch {
	case text == "any":
		v.fail("any port is said by leaving it out; remove port")
	case err != nil:
		v.fail("%s", err)
	}
	return first, last
}

// checkProtocol adds an error if the policy asks for what packets of its protocol do not have.
func (m mapping) checkProtocol(p Policy) {
	if p.Proto == "" {
		return
	}
	if m.has("port") && !ipproto.HasPorts(p.Protocol) {
		m.field("port").fail("packets of %s have no ports; remove port, or use proto: tcp, udp, sctp, dccp or udplite", p.Proto)
	}
	if p.SYN && p.Protocol != ipproto.TCP {
		m.field("syn").fail("only packets of tcp can be a SYN, not of %s; remove syn or proto", p.Proto)
	}
}

// checkMatch adds an error if another policy sees the same packets by the same key.
func (s *kernelSection) checkMatch(at value, p Policy) {
	k := packets{first: p.FirstPort, last: p.LastPort, syn: p.SYN, unverified: p.Unverified, shared: p.Shared, dryRun: p.DryRun}
	if p.Proto != "" {
		k.proto = strconv.Itoa(int(p.Protocol))
	}
	line, twice := s.matches[k]
	switch {
	case twice && line == 0:
		at.fail("it would match all that kernel.default does; add proto, port, syn, unverified or key, or move its limit there")
	case twice:
		at.fail("it would match the packets of the policy in line %d; remove one, or change its proto, port, syn, unverified or key", line)
	default:
		s.matches[k] = at.node.Line
	}
}

// policyNames returns the names that a rule may use.
func (s *kernelSection) policyNames() []string {
	all := []string{policyDefault}
	for _, p := range s.Policies[:min(len(s.Policies), mostNamed)] {
		if p.Name != "" {
			all = append(all, p.Name)
		}
	}
	return all
}
