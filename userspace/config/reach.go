package config

import (
	"slices"
	"strings"
)

// mostCompared is how many rules are compared with each other: as many as people write. Files
// with more are made by programs, and comparing all would take long.
const mostCompared = 2000

// checkRules warns of rules that are never looked at, and of those that are got around by HEAD.
func (s *section) checkRules() {
	if len(s.Rules) > mostCompared {
		return
	}
	for i, r := range s.Rules {
		covers := func(before Rule) bool { return !before.Continue && before.Match.covers(r.Match) }
		if j := slices.IndexFunc(s.Rules[:i], covers); j >= 0 {
			s.rules[i].warn("never looked at, as the rule in line %d matches all that this one does; move this one above it, or add continue: true to that",
				s.Rules[j].Line)
		}
		if s.leavesOutHead(r) {
			s.rules[i].warn("no rule matches HEAD requests for what this one limits, and servers run the same code for them as for GET; add HEAD to its method")
		}
	}
}

// leavesOutHead reports whether r limits GET, and no rule says anything of HEAD.
func (s *section) leavesOutHead(r Rule) bool {
	if len(r.Limits) == 0 || !slices.Contains(r.Match.Method, "GET") {
		return false
	}
	head := r.Match
	head.Method = []string{"HEAD"}
	return !slices.ContainsFunc(s.Rules, func(o Rule) bool { return o.Match.covers(head) })
}

// covers reports whether m matches all that o does. It may be false although m does.
func (m Match) covers(o Match) bool {
	methods := len(m.Method) == 0 ||
		len(o.Method) > 0 && !slices.ContainsFunc(o.Method, func(s string) bool { return !slices.Contains(m.Method, s) })
	return methods && m.Host.covers(o.Host) && m.Path.covers(o.Path)
}

func (p Pattern) covers(o Pattern) bool {
	switch {
	case p.Exact != "":
		return p.Exact == o.Exact
	case p.Prefix == "/": // of every path
		return true
	case p.Prefix != "":
		return strings.HasPrefix(o.Exact+o.Prefix, p.Prefix)
	case p.Suffix != "":
		return strings.HasSuffix(o.Exact+o.Suffix, p.Suffix)
	case p.Regexp != nil:
		return p.Text == o.Text
	default:
		return true
	}
}
