package config

import (
	"strings"
	"time"
	"unicode"

	"github.com/headgate/headgate/userspace/rate"
)

const (
	// maxEntries bounds the tables of the kernel: 100 million sources take about 14 GB.
	maxEntries = 100e6
	// maxInterfaceName is the longest name of an interface, in bytes (IFNAMSIZ, without the 0 at its end).
	maxInterfaceName = 15
	// defaultMaxRules is what the loader has by default.
	defaultMaxRules = 1 << 20
)

// The sizes in bytes that a heat table can have.
const (
	MinHeatMemory = 16 << 10
	MaxHeatMemory = 1 << 30
)

// DefaultVerifiedFor is for how long a client counts as verified unless the file says otherwise.
const DefaultVerifiedFor = 10 * time.Minute

// kernelSection is the kernel section while it is read.
type kernelSection struct {
	*Kernel
	right    bool           // its prefixes
	policies map[string]int // line of the policy with that name
	matches  map[packets]int
	ruled    map[ruledPrefix]int // line of the rule
	rules    []value             // where Kernel.Rules are
}

func modes() []string { return []string{ModeAuto, ModeNative, ModeGeneric} }

// Overflows returns the values of Kernel.Overflow.
func Overflows() []string { return []string{OverflowEstimate, OverflowPass, OverflowDrop} }

func (w *whole) readKernel(v value) {
	m, ok := v.mapping(kernelFields())
	if !ok {
		return
	}
	s := kernelSection{Kernel: &Kernel{}, policies: make(map[string]int), matches: make(map[packets]int), ruled: make(map[ruledPrefix]int)}
	w.Kernel = s.Kernel
	s.Interfaces = m.interfaces()
	s.Mode = m.choice("mode", modes(), ModeAuto)
	s.Overflow = m.overflow(OverflowEstimate)
	s.DryRun = m.flag("dry_run")
	s.VerifiedFor = m.duration("verified_for", 0, day, DefaultVerifiedFor)
	s.MaxSources = uint32(m.count("max_sources", 1, maxEntries, 0))
	s.MaxRules = uint32(m.count("max_rules", 1, maxEntries, 0))
	s.HeatMemory = m.size("heat_memory", MinHeatMemory, MaxHeatMemory, 0)
	before := len(v.file.errors)
	s.IPv4Prefix = int(m.count("ipv4_prefix", 0, 32, DefaultIPv4Prefix))
	s.IPv6Prefix = int(m.count("ipv6_prefix", 0, 128, DefaultIPv6Prefix))
	s.right = len(v.file.errors) == before
	if d := m.field("default"); d.given() {
		s.Default = d.limit()
	}
	s.readPolicies(m.field("policies"))
	s.readRules(m.field("rules"))
	s.readRuleFiles(m.field("rule_files"))
	s.checkRoom(m)
	s.checkShadowed()
}

// overflow returns what becomes of packets that there is no bucket for, otherwise where nothing is said.
func (m mapping) overflow(otherwise string) string {
	if v := m.field("overflow"); v.given() && v.node.Value == keyShared {
		v.fail("shared is no more; use estimate, by which each source has its own limit also where there is no room, " +
			"or limit all strangers together by a policy with key: shared and unverified: true")
		return otherwise
	}
	return m.choice("overflow", Overflows(), otherwise)
}

// interfaces returns the names of network interfaces.
func (m mapping) interfaces() []string {
	v := m.field("interfaces")
	if !v.given() {
		m.lack(m.value, "no interfaces; add interfaces: [eth0], or what those are called whose packets are limited")
		return nil
	}
	elements, _ := v.oneOrMore("the name of an interface, eth0")
	first := make(map[string]int)
	var names []string
	for _, e := range elements {
		name, ok := e.text()
		if !ok || !e.checkInterface(name) {
			continue
		}
		if line, twice := first[name]; twice {
			e.fail("%s is in line %d already; remove one", name, line)
			continue
		}
		first[name] = e.node.Line
		names = append(names, name)
	}
	return names
}

// checkInterface adds an error unless name is one that Linux takes for an interface (dev_valid_name).
func (v value) checkInterface(name string) bool {
	odd := func(c rune) bool { return c == '/' || c == ':' || unicode.IsSpace(c) || unicode.IsControl(c) }
	switch {
	case len(name) > maxInterfaceName:
		v.fail("%.40q is longer than the %d characters that an interface's name has; use one that `ip link` shows", name, maxInterfaceName)
	case name == "." || name == ".." || strings.ContainsFunc(name, odd):
		v.fail("%.40q cannot be the name of an interface; use one that `ip link` shows", name)
	default:
		return true
	}
	return false
}

// checkRoom adds an error if there are more rules than the kernel's tables have room for.
func (s *kernelSection) checkRoom(m mapping) {
	var v4, v6 int
	seen := make(map[string]bool)
	for at := range s.ruled {
		text := at.prefix.String()
		switch {
		case seen[text]:
		case at.prefix.Addr().Is4():
			v4++
		default:
			v6++
		}
		seen[text] = true
	}
	most := uint64(s.MaxRules)
	if most == 0 {
		most = defaultMaxRules
	}
	if n := uint64(max(v4, v6)); n > most {
		m.field("max_rules").fail("rules has %d prefixes of one family; use max_rules: %s or more", n, rate.FormatCount(n))
	}
}
