package main

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/test/agentfake"
)

// fleetsRules are rules of a fleet, as SetFleet of package plane makes them.
func fleetsRules(t *testing.T, i *loader.Instance) {
	t.Helper()
	_, err := i.Rules().SetAll([]rulemap.Rule{
		{Prefix: netip.MustParsePrefix("198.51.100.7/32"), Action: rulemap.Block, Until: rulemap.Forever, Origin: rulemap.FleetHandDown},
		{Prefix: netip.MustParsePrefix("198.51.100.9/32"), Action: rulemap.Allow, Until: rulemap.Forever, Origin: rulemap.Fleet},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Unlock(); err != nil {
		t.Fatal(err)
	}
}

// What a person says for the fleet and what was handed down elsewhere are both shown as the fleet's.
func TestRulesOfTheFleet(t *testing.T) {
	dir, i := newInstance(t)
	fleetsRules(t, i)
	var got render.Rules
	readJSON(t, dir, &got, "rules")
	origins := map[string]string{}
	for _, r := range got {
		origins[r.Prefix] = r.Origin
	}
	want := map[string]string{
		"198.51.100.7/32": "fleet", "198.51.100.9/32": "fleet", "203.0.113.0/24": "cli", "203.0.113.7/32": "cli", "2001:db8::/32": "config",
	}
	if diff := cmp.Diff(want, origins); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Who removes a rule of the fleet here only is told that it comes back.
func TestUnsetTellsOfTheFleet(t *testing.T) {
	dir, i := newInstance(t)
	fleetsRules(t, i)
	c := newConsole()
	if code := c.run(t, "unset", "198.51.100.7", "203.0.113.7", "--pin", dir); code != exitDone || c.out.String() != "unset 198.51.100.7/32, 203.0.113.7/32\n" {
		t.Fatalf("exit %d, %q, %q", code, c.out.String(), c.err.String())
	}
	want := "headgate: note: 198.51.100.7/32 has a rule of the fleet, which comes back within a minute; `headgate unset 198.51.100.7/32 --fleet` takes it back on all machines\n"
	if c.err.String() != want {
		t.Errorf("%q, want %q", c.err.String(), want)
	}
}

// An allow rule that the fleet has lets a session through what is blocked around it, until it is taken back.
func TestFleetLockoutKnowsTheFleetsRules(t *testing.T) {
	dir, i := newInstance(t)
	fleetsRules(t, i)
	for peer, called := range map[string]int{"198.51.100.9": 1, "198.51.100.10": 0} {
		a := &agentfake.Agent{}
		c := newFleetConsole(t, a, peer)
		if code := c.run(t, "block", "198.51.100.0/24", "--fleet", "--pin", dir); len(a.Calls()) != called {
			t.Errorf("%s: exit %d, %q, %s", peer, code, c.err.String(), a.Calls())
		}
	}
	if _, err := i.Rules().SetAll([]rulemap.Rule{{
		Prefix: netip.MustParsePrefix("198.51.100.0/24"), Action: rulemap.Block, Until: rulemap.Forever, Origin: rulemap.Fleet,
	}}, nil); err != nil {
		t.Fatal(err)
	}
	a := &agentfake.Agent{}
	c := newFleetConsole(t, a, "198.51.100.9")
	if code := c.run(t, "unset", "198.51.100.9", "--fleet", "--pin", dir); code != exitFailed || len(a.Calls()) > 0 || !strings.Contains(c.err.String(), "blocking 198.51.100.0/24 would cut off 198.51.100.9") {
		t.Errorf("exit %d, %q, %s", code, c.err.String(), a.Calls())
	}
}
