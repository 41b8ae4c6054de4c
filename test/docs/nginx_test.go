package docs_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/headgate/headgate/userspace/ruleset"
)

// TestLocations checks what the guide has in place of nginx's locations: which paths a pattern of it matches.
func TestLocations(t *testing.T) {
	text := read(t, guide)
	for _, c := range []struct{ pattern, in, out string }{
		{`"/files/*"`, "/files/ /files/a /files/a/b", "/files /filesystem /Files/a /x/files/a"},
		{`/files/`, "/files/", "/files /files/a"},
		{`/login`, "/login", "/login/ /login/x /Login"},
		{`"~ re"`, "/re /x/are/y", "/RE /r"},
		{`"~ (?i)re"`, "/re /x/aRe/y /RE", "/r"},
	} {
		if !strings.Contains(text, "path: "+c.pattern) {
			t.Errorf("docs/http.md does not have path: %s", c.pattern)
		}
		set := setOf(t, "http:\n  zones: {a: {key: ip, rate: 1r/s}}\n  rules: [{match: {path: "+c.pattern+"}, limits: [{zone: a}]}]\n")
		for path := range strings.FieldsSeq(c.in) {
			if !limited(set, path) {
				t.Errorf("%s does not match %s", c.pattern, path)
			}
		}
		for path := range strings.FieldsSeq(c.out) {
			if limited(set, path) {
				t.Errorf("%s matches %s", c.pattern, path)
			}
		}
	}
}

// limited reports whether a limit is asked about a request for the path.
func limited(set *ruleset.Set, path string) bool {
	r := ruleset.Request{Method: http.MethodGet, Path: path, Peer: netip.MustParseAddr("203.0.113.7")}
	return len(set.Explain(&r, 0).Limits) > 0
}
