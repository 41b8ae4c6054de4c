package ruleset_test

import (
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
)

const start = 1000 * time.Hour

// alone is a machine that shares nothing.
var alone ruleset.Fleet

// newSet returns the rules of a file.
func newSet(t testing.TB, file string) *ruleset.Set {
	t.Helper()
	f, err := config.Parse("headgate.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	s, err := ruleset.New(f.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// get returns a request for a path, of the client 192.0.2.1.
func get(path string) *ruleset.Request { return from("192.0.2.1", path) }

func from(client, path string) *ruleset.Request {
	return &ruleset.Request{
		Peer:   netip.MustParseAddr(client),
		Method: http.MethodGet,
		Host:   "example.com",
		Path:   path,
		Header: http.Header{},
	}
}

func with(r *ruleset.Request, name, value string) *ruleset.Request {
	r.Header.Add(name, value)
	return r
}

// passes returns how many of n requests at now are allowed. They end at once.
func passes(s ruleset.Decider, r *ruleset.Request, n int, now time.Duration) int {
	passed := 0
	for range n {
		d := s.Decide(r, now)
		if d.Allowed {
			passed++
		}
		d.Free(now)
	}
	return passed
}

// zones returns the zones of the limits that were asked, in order.
func zones(d *ruleset.Decision) []string {
	var names []string
	for _, a := range d.Limits {
		names = append(names, a.Zone)
	}
	return names
}

// counts returns the counts of a rule or zone.
func ruleCounts(t *testing.T, s *ruleset.Set, name string) ruleset.Counts {
	t.Helper()
	for _, c := range s.Counters().Rules {
		if c.Rule == name {
			return c.Counts
		}
	}
	t.Fatalf("no rule %q", name)
	return ruleset.Counts{}
}

func zoneCounts(t *testing.T, s *ruleset.Set, name string) ruleset.Counts {
	t.Helper()
	for _, c := range s.Counters().Zones {
		if c.Zone == name {
			return c.Counts
		}
	}
	t.Fatalf("no zone %q", name)
	return ruleset.Counts{}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
