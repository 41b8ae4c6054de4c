package render_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/test/agentfake"
	"github.com/headgate/headgate/test/golden"
	"github.com/headgate/headgate/userspace/admin"
)

func fleet(t *testing.T) admin.Fleet {
	t.Helper()
	f, err := new(agentfake.Agent).Fleet()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func fleetViews(t *testing.T) map[string]render.View {
	t.Helper()
	away := fleet(t)
	away.Error, away.Members = "redis did not answer in time", away.Members[:2]
	away.Store = admin.FleetStore{
		Mode: "cluster", Addrs: []string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"}, Health: "down", Since: away.Store.Since,
		RoundTripSeconds: 0.00031,
		Error:            "dial tcp 10.0.0.1:6379: connection refused", Calls: 5000, RoundTrips: 1, Timeouts: 3, Errors: 2, Busy: 1, LeftAlone: 4000, Opened: 1, Probes: 9,
	}
	away.Members = slices.Clone(away.Members)
	away.Members[0].Store, away.Members[0].RoundTripSeconds = "down", 0
	alone := admin.Fleet{
		Self: "web-1", Members: []admin.FleetMember{{Name: "web-1", Self: true, Version: "v1.2.3", Started: agentfake.Noon(), Store: "probing"}}, Error: "NOAUTH Authentication required.",
		Store: admin.FleetStore{Mode: "sentinel", Addrs: []string{"10.0.0.1:26379"}, Health: "probing", Error: "NOAUTH Authentication required."}, Limits: []admin.FleetLimit{},
	}
	rules, err := new(agentfake.Agent).FleetRules()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]render.View{"fleet_rules": render.FleetRules{Rules: rules, Now: agentfake.Noon()}, "fleet_no_rules": render.FleetRules{}, "fleet": render.Fleet{Fleet: fleet(t)}, "fleet_away": render.Fleet{Fleet: away}, "fleet_alone": render.Fleet{Fleet: alone}}
}

func TestFleetGolden(t *testing.T) {
	for name, view := range fleetViews(t) {
		t.Run(name, func(t *testing.T) {
			golden.Check(t, name+".table", write(t, render.Table, view))
			golden.Check(t, name+".json", write(t, render.JSON, view))
		})
	}
}

// A fleet whose machines and zones have names of a usual length is shown on a terminal of 80 columns.
func TestFleetOn80Columns(t *testing.T) {
	f := fleet(t)
	f.Members[2].Name, f.Members[2].Version, f.Members[2].Behind, f.Members[2].DelaySeconds = "ip-10-0-12-34", "v1.12.3", 123456, 12.3
	f.Members[2].Store, f.Members[2].RoundTripSeconds = "probing", 0.198
	f.Limits[1].Zone, f.Limits[1].OnStoreFailure = "downloads-per-client", []string{"local", "open", "closed"}
	for line := range strings.Lines(string(write(t, render.Table, render.Fleet{Fleet: f}))) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
