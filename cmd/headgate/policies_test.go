package main

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/maps/policymap"
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
			Limit: wire.Limit{Packets: packetQuota(t, "500pps", 500)},
		},
		{
			Name: "syn", SYN: true, Ports: policymap.Ports{First: 1000, Last: 2000}, DryRun: true,
			Limit: wire.Limit{Packets: packetQuota(t, "30ppm", 1)},
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
		{Name: "default", Key: "source", Limit: render.Limit{Rate: "10kpps", Burst: 20000}, Action: "drop", ID: 1},
		{
			Name: "dns", Match: render.Match{Protocol: "udp", Ports: "53"}, Key: "shared",
			Limit: render.Limit{Rate: "500pps", Burst: 500}, Action: "drop", ID: 2,
		},
		{
			Name: "syn", Match: render.Match{Ports: "1000-2000", SYN: true}, Key: "source",
			Limit: render.Limit{Rate: "30ppm", Burst: 1}, Action: "dry-run", ID: 3,
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

// fakeConfigs are configurations, of which the fallback may be missing.
type fakeConfigs struct {
	current  policymap.Config
	fallback *policymap.Config
	err      error
}

func (f fakeConfigs) Load() (policymap.Config, error) { return f.current, f.err }

func (f fakeConfigs) Fallback() (policymap.Config, bool, error) {
	if f.fallback == nil {
		return policymap.Config{}, false, nil
	}
	return *f.fallback, true, nil
}

func TestConfigInForce(t *testing.T) {
	tried := policymap.Config{ValidUntil: 100, IPv4Prefix: 1}
	kept := policymap.Config{ValidUntil: policymap.Forever, IPv4Prefix: 2}
	tests := []struct {
		name string
		m    fakeConfigs
		now  uint64
		want int
	}{
		{"for good", fakeConfigs{current: kept}, 1 << 60, 2},
		{"being tried", fakeConfigs{current: tried, fallback: &kept}, 99, 1},
		{"tried", fakeConfigs{current: tried, fallback: &kept}, 100, 2},
		{"tried, nothing before", fakeConfigs{current: tried}, 100, policymap.NewConfig().IPv4Prefix},
	}
	for _, tt := range tests {
		got, err := configInForce(tt.m, tt.now)
		if err != nil || got.IPv4Prefix != tt.want {
			t.Errorf("%s: the one with %d, want %d; %v", tt.name, got.IPv4Prefix, tt.want, err)
		}
	}
	if _, err := configInForce(fakeConfigs{err: errBroken}, 0); !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
}

func TestProtocolName(t *testing.T) {
	for name, number := range protocols {
		if got := protocolName(number); got != name {
			t.Errorf("%d is %q, want %q", number, got, name)
		}
	}
	if got := protocolName(200); got != "200" {
		t.Error(got)
	}
}
