package ruleset_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
)

// TestErrors: what Go programs may pass and config would not.
func TestErrors(t *testing.T) {
	byIP := []config.KeyPart{{Kind: config.KeyIP}}
	quota := config.Quota{Count: 1, Per: time.Second}
	used := []config.Rule{{Limits: []config.Use{{Zone: 0}}}}
	zone := func(z config.Zone) config.HTTP {
		z.Name = "z"
		return config.HTTP{Zones: []config.Zone{z}, Rules: used}
	}
	for _, c := range []struct {
		name string
		http config.HTTP
		want string
	}{
		{"no zone", config.HTTP{Rules: used}, "rule 1: limit 1 uses zone 0 of 0"},
		{"zone below 0", config.HTTP{Rules: []config.Rule{{Name: "r", Limits: []config.Use{{Zone: -1}}}}}, "r: limit 1 uses zone -1 of 0"},
		{"no key", zone(config.Zone{Quota: quota}), `zone "z": the key has no part`},
		{"unknown part", zone(config.Zone{Key: []config.KeyPart{{Kind: "colour", Name: "x"}}}), `key part "colour" is unknown`},
		{"nameless part", zone(config.Zone{Key: []config.KeyPart{{Kind: config.KeyCookie}}}), `key part "cookie" has no name; write cookie:NAME`},
		{"two ips", zone(config.Zone{Key: []config.KeyPart{{Kind: config.KeyIP}, {Kind: config.KeyIP}}}), "ip more than once"},
		{"no quota", zone(config.Zone{Key: byIP}), `zone "z": `},
		{"no slots", zone(config.Zone{Key: byIP, Algorithm: config.Concurrent}), "0 requests at a time"},
		{"unknown algorithm", zone(config.Zone{Key: byIP, Algorithm: "magic", Quota: quota}), `algorithm "magic" is unknown`},
		{"no window", zone(config.Zone{Key: byIP, Algorithm: config.Window}), `zone "z": `},
		{"no sliding", zone(config.Zone{Key: byIP, Algorithm: config.Sliding}), `zone "z": `},
		{"no sketch", zone(config.Zone{Key: byIP, Algorithm: config.Sketch}), `zone "z": `},
		{"nginx with overrides", zone(config.Zone{
			Key: byIP, Algorithm: config.Nginx, Quota: quota,
			Overrides: []config.Override{{
				Value: config.Value{{Prefix: netip.MustParsePrefix("10.0.0.0/8")}},
				Quota: config.Quota{Count: 2, Per: time.Second},
			}},
		}), "nginx has one rate"},
		{"nginx at a fraction", zone(config.Zone{Key: byIP, Algorithm: config.Nginx, Quota: config.Quota{Count: 1, Per: 7 * time.Second}}), `zone "z": `},
		{"short value", zone(config.Zone{Key: byIP, Quota: quota, Allow: []config.Value{{}}}), "allow: value 1 has 0 parts and the key has 1"},
		{"value without prefix", zone(config.Zone{Key: byIP, Quota: quota, Overrides: []config.Override{{Value: config.Value{{Text: "x"}}, Quota: quota}}}), "overrides: value 1: no prefix"},
		{"two of a name", config.HTTP{Zones: []config.Zone{{Name: "z", Key: byIP, Quota: quota}, {Name: "z", Key: byIP, Quota: quota}}}, `zone "z": two have the name; give one another`},
		{"allowed nobody", config.HTTP{Allow: []netip.Prefix{{}}}, "allow: value 1: no prefix"},
		{"forgeable header", config.HTTP{ClientIP: config.ClientIP{Header: "X-Real-IP"}}, "anybody could forge it"},
	} {
		s, err := ruleset.New(c.http)
		if err == nil || !strings.Contains(err.Error(), c.want) || s != nil {
			t.Errorf("%s: got %v, %v, want %s", c.name, s, err, c.want)
		}
	}
}

// TestFilesOfConfig: what config reads can be made rules of.
func TestFilesOfConfig(t *testing.T) {
	const testdata = "../config/testdata/"
	files, err := filepath.Glob(testdata + "doubtful/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range append(files, testdata+"example.yaml", testdata+"full.yaml") {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		d := newSet(t, string(data)).Decide(get("/"), start)
		equal(t, name+": allowed", d.Allowed, true)
	}
}

// TestZeroValues: no rules allow all, and a request that says nothing is one.
func TestZeroValues(t *testing.T) {
	s, err := ruleset.New(config.HTTP{})
	if err != nil {
		t.Fatal(err)
	}
	d := s.Decide(&ruleset.Request{}, 0)
	equal(t, "allowed", d.Allowed, true)
	equal(t, "text", d.String(), "allowed; client unknown\n")
	d.Free(0)
}

// TestDefaultsOfRules: those that Go programs leave out.
func TestDefaultsOfRules(t *testing.T) {
	s, err := ruleset.New(config.HTTP{
		Zones: []config.Zone{{Name: "z", Key: []config.KeyPart{{Kind: config.KeyIP}}, Quota: config.Quota{Count: 10, Per: time.Second}}},
		Rules: []config.Rule{{Limits: []config.Use{{Burst: 20, Delay: 20}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "window", s.Decide(get("/"), start).Limits[0].Window, 2100*time.Millisecond)
	equal(t, "allowed", passes(s, get("/"), 50, start), 20)
	d := s.Decide(get("/"), start)
	equal(t, "rule", d.Rule, "rule 1")
	equal(t, "status", d.Status, 429)
}
