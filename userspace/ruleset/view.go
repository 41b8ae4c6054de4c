package ruleset

import (
	"net/netip"
	"path"
	"strings"
)

// view is a request as rules and keys see it.
type view struct {
	*Request
	host, path string     // as the package's documentation says
	client     netip.Addr // unmapped, without a zone; invalid if not known
}

// canonicalHost returns host as nginx's $host has it: in lower case, without a port and
// without the dot at the end of a full name. The brackets of an IPv6 address stay.
func canonicalHost(host string) string {
	if end := strings.IndexByte(host, ']'); end > 0 && host[0] == '[' {
		host = host[:end+1]
	} else if colon := strings.IndexByte(host, ':'); colon >= 0 {
		host = host[:colon]
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// canonicalPath returns p as nginx's $uri has it. What is no path, as the "*" of
// OPTIONS, stays as it is.
func canonicalPath(p string) string {
	switch {
	case p == "":
		return "/"
	case p[0] != '/', !strings.Contains(p, "//") && !strings.Contains(p, "/."):
		return p
	}
	clean := path.Clean(p)
	if clean != "/" && endsInDirectory(p) {
		clean += "/"
	}
	return clean
}

// endsInDirectory reports whether the last element of p names a directory by its form.
func endsInDirectory(p string) bool {
	last := p[strings.LastIndexByte(p, '/')+1:]
	return last == "" || last == "." || last == ".."
}
