package ruleset_test

import (
	"slices"
	"testing"
)

// matching reports whether a rule with the match applies to a request.
func matching(t *testing.T, match, method, host, path string) bool {
	t.Helper()
	s := newSet(t, `
http:
  zones:
    all: {key: "const:all", rate: 1r/s}
  rules:
    - match: `+match+`
      limits: [{zone: all}]
`)
	r := get(path)
	r.Method, r.Host = method, host
	return len(s.Decide(r, start).Limits) == 1
}

func TestPaths(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"/login", "/login", true},
		{"/login", "/login/", false},
		{"/login", "/LOGIN", false},
		{"/login", "/loginx", false},
		{"/login", "/x", false},
		{"/login", "//login", true},
		{"/login", "///login", true},
		{"/login", "/./login", true},
		{"/login", "/x/../login", true},
		{"/login", "/../login", true},
		{"/login", "/login/.", false}, // /login/
		{"/login/", "/login/.", true},
		{"/login/", "/login/x/..", true},
		{"/login/", "/login//", true},
		{"/", "", true},
		{"/", "/..", true},
		{"/.git", "/.git", true},
		{"/..a", "/..a", true},
		{"/api/*", "/api/", true},
		{"/api/*", "/api/x/y", true},
		{"/api/*", "/api", false},
		{"/api/*", "//api//x", true},
		{"/api/*", "/x/../api/y", true},
		{"/api/*", "/api/../x", true}, // to servers that do not resolve it
		{"/api/*", "//api/x/../../y", true},
		{"/api/*", "/./api/x/../../y", true},
		{"/api", "/api/..", false},
		{"/api/*", "/apix/../y", false},
		{"~ ^/u/[0-9]+$", "/u/17", true},
		{"~ ^/u/[0-9]+$", "/u//17", true},
		{"~ ^/u/[0-9]+$", "/u/x", false},
		{"~ admin", "/x/admin/y", true},
	} {
		if got := matching(t, `{path: "`+c.pattern+`"}`, "GET", "h", c.path); got != c.want {
			t.Errorf("%q matches %q: got %v", c.pattern, c.path, got)
		}
	}
}

// TestReadings: a path that is read in two ways has the limits of both, and is exempt only if it is by both.
func TestReadings(t *testing.T) {
	s := newSet(t, `
http:
  zones:
    api:    {key: "const:all", rate: 1r/h}
    static: {key: "const:all", rate: 1r/h}
    all:    {key: "const:all", rate: 1r/h}
  rules:
    - match: {path: /health}
      limits: []
    - match: {path: "/static/*"}
      limits: [{zone: static}]
    - match: {path: "/api/*"}
      continue: true
      limits: [{zone: api}]
    - limits: [{zone: all}]
`)
	for _, c := range []struct {
		path string
		want []string
	}{
		{"/health", nil},
		{"/x/../health", []string{"all"}},
		{"/health/../health", []string{"all"}},
		{"/..health", []string{"all"}},
		{"/api/x/../../health", []string{"api", "all"}},
		{"/api/x/../../static/y", []string{"static", "api", "all"}},
		{"/static/../static/y", []string{"static"}},
		{"/static/../api/y", []string{"static", "api", "all"}},
		{"/api/../api/y", []string{"api", "all"}},
		{"x/../../health", []string{"all"}},
	} {
		if got := zones(s.Explain(get(c.path), start)); !slices.Equal(got, c.want) {
			t.Errorf("%s: zones %q, want %q", c.path, got, c.want)
		}
	}
}

func TestHosts(t *testing.T) {
	for _, c := range []struct {
		pattern, host string
		want          bool
	}{
		{"example.com", "example.com", true},
		{"example.com", "EXAMPLE.com:8080", true},
		{"example.com", "example.com.", true},
		{"example.com", "example.com.:443", true},
		{"example.com", "www.example.com", false},
		{"example.com", "", false},
		{"*.example.com", "www.example.com:80", true},
		{"*.example.com", "a.b.example.com", true},
		{"*.example.com", "example.com", false},
		{"*.example.com", "badexample.com", false},
		{"~ ^api[0-9]+[.]", "API7.example.com", true},
		{"~ ^api[0-9]+[.]", "api.example.com", false},
	} {
		if got := matching(t, `{host: "`+c.pattern+`"}`, "GET", c.host, "/"); got != c.want {
			t.Errorf("%q matches %q: got %v", c.pattern, c.host, got)
		}
	}
}

func TestMethods(t *testing.T) {
	for _, c := range []struct {
		method string
		want   bool
	}{{"POST", true}, {"PUT", true}, {"GET", false}, {"post", false}, {"", false}} {
		if got := matching(t, "{method: [POST, PUT]}", c.method, "h", "/"); got != c.want {
			t.Errorf("method %q: got %v", c.method, got)
		}
	}
}

// TestAllOfAMatch: host, path and method must all match.
func TestAllOfAMatch(t *testing.T) {
	const match = `{host: example.com, path: /login, method: [POST]}`
	for _, c := range []struct {
		method, host, path string
		want               bool
	}{
		{"POST", "example.com", "/login", true},
		{"GET", "example.com", "/login", false},
		{"POST", "example.org", "/login", false},
		{"POST", "example.com", "/", false},
	} {
		if got := matching(t, match, c.method, c.host, c.path); got != c.want {
			t.Errorf("%v: got %v", c, got)
		}
	}
}
