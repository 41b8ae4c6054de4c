package envoy

import (
	"net/url"
	"strings"
	"testing"
)

func TestSplitTarget(t *testing.T) {
	for _, c := range []struct{ target, path, query string }{
		{"/", "/", ""}, {"/a?b?c", "/a", "b?c"}, {"/%2e%2E/a%2fb", "/../a/b", ""}, {"*", "*", ""}, {"", "", ""},
		{"//a", "//a", ""}, {"/a+b", "/a+b", ""}, {"/%61%zz%6", "/a%zz%6", ""}, {"/%", "/%", ""}, {"/a#b", "/a#b", ""}, {"/%00", "/\x00", ""},
	} {
		path, query := splitTarget(c.target)
		if path != c.path || query != c.query {
			t.Errorf("%q: %q and %q, want %q and %q", c.target, path, query, c.path, c.query)
		}
	}
}

// FuzzSplitTarget: what net/url can read is read alike.
func FuzzSplitTarget(f *testing.F) {
	for _, s := range []string{"/", "/a?b", "/%41%2f", "//x/../y", "/%zz", "/\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, target string) {
		path, query := splitTarget(target)
		u, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(target, "/") {
			return
		}
		if path != u.Path || query != u.RawQuery {
			t.Errorf("%q: %q and %q, want %q and %q", target, path, query, u.Path, u.RawQuery)
		}
	})
}
