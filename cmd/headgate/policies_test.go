package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/rate"
)

// testConfig has three policies, with the ids 1 to 3.
func testConfig(t *testing.T) policymap.Config {
	t.Helper()
	config := policymap.NewConfig()
	for _, p := range []policymap.Policy{
		{Name: policymap.Default, Limit: wire.Limit{Packets: packetQuota(t, "10kpps", 20000)}},
		{
			Name: "dns", HasProto: true, Proto: 17, Ports: policymap.Ports{First: 53, Last: 53}, Key: policymap.Shared,
			Limit: wire.Limit{Packets: packetQuota(t, "500pps", 500)}, Overflow: policymap.OverflowDrop,
		},
		{
			Name: "syn", SYN: true, Unverified: true, Ports: policymap.Ports{First: 1000, Last: 2000}, DryRun: true,
			Limit: wire.Limit{Packets: packetQuota(t, "30ppm", 1)}, Overflow: policymap.OverflowPass,
		},
	} {
		if err := config.Set(p, [policymap.MaxPolicies][bpf.VerdictLen]bpf.Counter{}); err != nil {
			t.Fatal(err)
		}
	}
	return config
}

func packetQuota(t *testing.T, text string, burst uint64) wire.Quota {
	t.Helper()
	r, err := rate.ParsePackets(text)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Quota{Rate: r, Burst: burst}
}

func TestPoliciesView(t *testing.T) {
	config := testConfig(t)
	want := render.Policies{
		{Name: "default", Key: "source", Limit: render.Limit{Rate: "10kpps", Burst: 20000}, Action: "drop", ID: 1, Overflow: "estimate"},
		{
			Name: "dns", Match: render.Match{Protocol: "udp", Ports: "53"}, Key: "shared",
			Limit: render.Limit{Rate: "500pps", Burst: 500}, Action: "drop", ID: 2, Overflow: "drop",
		},
		{
			Name: "syn", Match: render.Match{Ports: "1000-2000", SYN: true, Unverified: true}, Key: "source",
			Limit: render.Limit{Rate: "30ppm", Burst: 1}, Action: "dry-run", ID: 3, Overflow: "pass",
		},
	}
	if diff := cmp.Diff(want, policiesView(config)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	config.DryRun = true
	for _, p := range policiesView(config) {
		if p.Action != "dry-run" {
			t.Errorf("in dry run %s has the action %s", p.Name, p.Action)
		}
	}
}

// fakeConfigs is a configuration, which may be replaced.
type fakeConfigs struct{ current policymap.Config }

func (f fakeConfigs) InForce(uint64) (policymap.Config, error) { return f.current, nil }

func TestStatsViewOfHeat(t *testing.T) {
	config := testConfig(t)
	got := statsView(&statmap.Stats{Cold: 1, Inserts: 2, Deferred: 3}, &config).Heat
	if want := (render.HeatCounts{ColdPackets: 1, Inserts: 2, Deferred: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
