package ruleset

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
)

// FuzzQuery: the arguments are those of net/url, where it has no objection.
func FuzzQuery(f *testing.F) {
	for _, raw := range []string{"a=1", "a=&a=2&b=3", "%61=%31+%2b", "a=%zz&%=%&a=1", "&&=&=x&a", "a=b=c", "a;b=1", "%4", "a=%4"} {
		f.Add(raw, "a")
	}
	f.Fuzz(func(t *testing.T, raw, name string) {
		got, _ := query(raw, name, []byte("before"))
		values, err := url.ParseQuery(raw)
		if err != nil {
			return
		}
		if want := firstOf(values[name]); got != want {
			t.Errorf("%q of %q: got %q, want %q", name, raw, got, want)
		}
		for name := range values {
			if got, _ := query(raw, name, nil); got != firstOf(values[name]) {
				t.Errorf("%q of %q: got %q", name, raw, got)
			}
		}
	})
}

// FuzzCookie: the cookies are those of net/http, where it objects to none of them.
func FuzzCookie(f *testing.F) {
	for _, line := range []string{"a=1", "a=1; b=2;a=3", `a="x y"; a`, " a = 1 ;; b", "a==", `a="`, `a=""; a=2`, "=1", "$a=1"} {
		f.Add(line, "a")
	}
	f.Fuzz(func(t *testing.T, line, name string) {
		v := &view{Request: &Request{Header: http.Header{"Cookie": {line}}}}
		got := cookie(v, name)
		cookies, err := http.ParseCookie(line)
		if err != nil || strings.ContainsAny(line, "\r\n") {
			return
		}
		var values []string
		for _, c := range cookies {
			if c.Name == name && c.Quoted {
				values = append(values, c.Value)
			} else if c.Name == name {
				values = append(values, strings.Trim(c.Value, " \t"))
			}
		}
		if want := firstOf(values); got != want {
			t.Errorf("%q of %q: got %q, want %q", name, line, got, want)
		}
	})
}

func firstOf(values []string) string {
	i := slices.IndexFunc(values, func(s string) bool { return s != "" })
	if i < 0 {
		return ""
	}
	return values[i]
}

// FuzzCanonical: there is one form of each path and host.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{"", "/", "//", "/.", "/..", "/a/..", "/a/./b/", "*", "/...", "/.a", "/a//", "[::1]:80", "[::1", "A.b.:1", "h..", "h:1:2", "]:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p := canonicalPath(s)
		if canonicalPath(p) != p {
			t.Errorf("path %q: %q is not canonical", s, p)
		}
		if strings.HasPrefix(s, "/") && path.Clean(p) != path.Clean(s) {
			t.Errorf("path %q: %q is another", s, p)
		}
		if strings.HasPrefix(s, "/") && strings.HasSuffix(p, "/") != endsInDirectory(s) && p != "/" {
			t.Errorf("path %q: %q", s, p)
		}
		if strings.HasPrefix(s, "/") && canonicalPath(unresolved(s)) != p {
			t.Errorf("path %q: read as %q it is another than %q", s, unresolved(s), p)
		}
		if h := canonicalHost(s); strings.ContainsAny(h, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			t.Errorf("host %q: %q", s, h)
		}
	})
}
