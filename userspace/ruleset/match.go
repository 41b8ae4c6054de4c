package ruleset

import (
	"slices"
	"strings"

	"github.com/headgate/headgate/userspace/config"
)

// match is a config.Match whose texts are as a view has them.
type match struct {
	host, path config.Pattern
	methods    []string
}

func newMatch(m config.Match) match {
	host, path := m.Host, m.Path
	if host.Exact != "" {
		host.Exact = canonicalHost(host.Exact)
	}
	host.Prefix, host.Suffix = strings.ToLower(host.Prefix), strings.ToLower(host.Suffix)
	if path.Exact != "" {
		path.Exact = canonicalPath(path.Exact)
	}
	return match{host, path, m.Method}
}

// matches reports whether a rule applies to v, if path is how its path is read.
func (m *match) matches(v *view, path string) bool {
	return (len(m.methods) == 0 || slices.Contains(m.methods, v.Method)) &&
		matches(&m.path, path) && matches(&m.host, v.host)
}

func matches(p *config.Pattern, s string) bool {
	switch {
	case p.Exact != "":
		return s == p.Exact
	case p.Prefix != "":
		return strings.HasPrefix(s, p.Prefix)
	case p.Suffix != "":
		return strings.HasSuffix(s, p.Suffix)
	case p.Regexp != nil:
		return p.Regexp.MatchString(s)
	}
	return true
}
