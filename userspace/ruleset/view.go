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

// readings appends to dst how servers may read the path: as it is with ".." resolved and, if there is
// one, as it is without. Who limits one of them must not be got around by the other.
func (v *view) readings(dst []string) []string {
	dst = append(dst, v.path)
	if p := v.Path; strings.Contains(p, "/..") && p[0] == '/' {
		if unresolved := unresolved(p); unresolved != v.path {
			dst = append(dst, unresolved)
		}
	}
	return dst
}

// unresolved is canonicalPath, but leaves ".." as it stands.
func unresolved(p string) string {
	var b strings.Builder
	for element := range strings.SplitSeq(p, "/") {
		if element != "" && element != "." {
			b.WriteString("/" + element)
		}
	}
	if endsInDirectory(p) && !strings.HasSuffix(p, "/..") {
		b.WriteByte('/')
	}
	return b.String()
}

// endsInDirectory reports whether the last element of p names a directory by its form.
func endsInDirectory(p string) bool {
	last := p[strings.LastIndexByte(p, '/')+1:]
	return last == "" || last == "." || last == ".."
}
