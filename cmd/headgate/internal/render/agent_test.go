package render_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/test/agentfake"
	"github.com/headgate/headgate/test/golden"
	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/event"
)

func agentViews(t *testing.T) map[string]render.View {
	full, bare := &agentfake.Agent{WithKernel: true, ReloadError: errors.New("headgate.yaml:3:1: wrong")}, &agentfake.Agent{Off: true}
	draining := full.Status()
	draining.Draining, draining.Adaptive.Observe, draining.Adaptive.Signal = true, true, "in_flight"
	trouble := full.Status()
	for n, state := range []string{admin.Missing, admin.Detached, admin.NotKnown} {
		trouble.Interfaces = append(trouble.Interfaces, admin.Interface{Name: fmt.Sprintf("eth%d", n+1), State: state})
	}
	trouble.Interfaces = append(trouble.Interfaces, admin.Interface{
		Name: "eth4", State: admin.Failed, Error: "blocking 192.0.2.0/24 would cut off 192.0.2.254, a default gateway",
	})
	trouble.NginxLogs = []admin.Log{{Path: "/var/log/nginx/error.log"}, {Path: "/var/log/other.log", Error: "open /var/log/other.log: permission denied"}}
	trouble.Upstream[0].Health = admin.NotAsked
	nothing := bare.Status()
	nothing.Upstream, nothing.Listeners = []admin.Server{}, nothing.Listeners[1:]
	keys, err := full.TopKeys("perip", 2)
	if err != nil {
		t.Fatal(err)
	}
	keys[1].Rate, keys[1].Rule, keys[1].RetryAfterSeconds, keys[1].ResetSeconds = "", "", 0.0485, 3600
	offenders, err := full.Offenders(3)
	if err != nil {
		t.Fatal(err)
	}
	withAgent := status()
	withAgent.Agent = &render.RunningAgent{Version: "v1.2.3", PID: 812, Uptime: 5400.4}
	return map[string]render.View{
		"agent":           render.Agent{Status: full.Status()},
		"agent_draining":  render.Agent{Status: draining},
		"agent_trouble":   render.Agent{Status: trouble},
		"agent_bare":      render.Agent{Status: nothing},
		"zones":           render.Zones(full.Zones()),
		"zones_unchanged": render.Zones(full.Zones()[:1]),
		"zones_empty":     render.Zones(nil),
		"keys":            render.KeyStates(keys),
		"keys_away":       render.KeyStates{{Zone: "login", Rule: "rule 1", Key: "ip 192.0.2.1", Rate: "5r/m", Limit: 2, Remaining: 1, Owes: 1, ResetSeconds: 12, Store: "local"}},
		"keys_empty":      render.KeyStates(nil),
		"offenders":       render.Offenders(offenders),
		"offenders_empty": render.Offenders(nil),
		"reports":         reports(),
		"status_agent":    withAgent,
	}
}

func reports() render.Reports {
	address := netip.MustParsePrefix("203.0.113.7/32")
	return render.Reports{
		{Prefix: address, Outcome: "counted", Offences: 3, After: 20, WithinSeconds: 10},
		{Prefix: address, Outcome: "handed_down", ForSeconds: 90},
		{Prefix: netip.MustParsePrefix("2001:db8::/64"), Outcome: "handed_down", ForSeconds: 60, DryRun: true},
		{Prefix: netip.MustParsePrefix("10.0.0.1/32"), Outcome: "spared", Reason: "private"},
	}
}

func TestAgentGolden(t *testing.T) {
	for name, view := range agentViews(t) {
		t.Run(name, func(t *testing.T) {
			golden.Check(t, name+".table", write(t, render.Table, view))
			golden.Check(t, name+".json", write(t, render.JSON, view))
		})
	}
}

func agentEvents() []event.Event {
	source := netip.MustParsePrefix("203.0.113.7/32")
	return []event.Event{
		{
			Time: noon(), Kind: event.Dropped, Source: source, Origin: "kernel", Reason: "over_packet_limit", Count: 999, Name: "eth0",
			Packet: &event.Packet{
				Source: source.Addr(), SourcePort: 4711, DestPort: 53, Protocol: "udp", Length: 84, Verdict: "drop", Policy: "default",
			},
		},
		{Time: noon(), Kind: event.Dropped, Reason: "malformed", Name: "eth0", Packet: &event.Packet{Verdict: "drop"}},
		{Time: noon(), Kind: event.Refused, Source: source, Origin: "http", Rule: "login", Zone: "perip", Count: 20},
		{Time: noon(), Kind: event.HandedDown, Source: netip.MustParsePrefix("2001:db8::/64"), Origin: "nginx", Rule: "block", Reason: "20 offences within 10s", For: 60},
		{Time: noon(), Kind: event.Adapted, Factor: 0.5, Reason: "latency", Lost: 7},
		{Time: noon(), Kind: event.Upstream, Name: "http://127.0.0.1:9000", Reason: "\x1b[31mrefused\n"},
		{Time: noon(), Kind: event.Draining},
		{Time: noon(), Kind: event.StoreDown, Reason: "redis did not answer in time"},
		{Time: noon(), Kind: event.StoreUp, Reason: "it answers again after 12s"},
		{Time: noon(), Kind: event.FleetRule, Source: source, Origin: "fleet", Name: "web-2", Rule: "block", Reason: "20 offences within 10s", For: 90},
		{Time: noon(), Kind: event.FleetUnset, Source: source, Origin: "fleet", Name: "web-1", Rule: "block"},
		{Time: noon(), Kind: event.FleetSpared, Source: source, Origin: "fleet", Name: "web-2", Rule: "block", Reason: "trusted proxy"},
		{Time: noon(), Kind: event.FleetWithheld, Count: 12, Reason: "more than 60 a minute"},
		{Time: noon(), Kind: event.FleetResized, Members: 1},
		{Time: noon(), Kind: event.FleetResized, Members: 3},
	}
}

func TestAgentEventsGolden(t *testing.T) {
	for _, f := range []render.Format{render.Table, render.JSON} {
		var b bytes.Buffer
		out := render.NewAgentEvents(&b, f)
		if err := out.Begin(); err != nil {
			t.Fatal(err)
		}
		for _, e := range agentEvents() {
			if err := out.Write(e); err != nil {
				t.Fatal(err)
			}
		}
		golden.Check(t, "agent_events."+f.String(), b.Bytes())
		broken := render.NewAgentEvents(fullDisk{}, f)
		if err := broken.Begin(); f == render.Table && !errors.Is(err, errFull) {
			t.Errorf("heading: %v", err)
		}
		if err := broken.Write(agentEvents()[0]); !errors.Is(err, errFull) {
			t.Errorf("event: %v", err)
		}
	}
}

// A packet that the agent tells of has all the fields, with the same values, that it has when it is read from the kernel.
func TestPacketsAreTheSameWhoeverTells(t *testing.T) {
	direct := render.Event{
		Time: noon(), Source: netip.MustParseAddr("203.0.113.7"), SourcePort: 4711, DestPort: 53, Protocol: "udp", Length: 84,
		Verdict: "drop", Reason: "over_packet_limit", Policy: "default", Interface: "eth0", Suppressed: 998,
	}
	fields := func(write func(b *bytes.Buffer) error) (all map[string]any) {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b.Bytes(), &all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := fields(func(b *bytes.Buffer) error { return render.NewEvents(b, render.JSON).Write(direct) })
	got := fields(func(b *bytes.Buffer) error { return render.NewAgentEvents(b, render.JSON).Write(agentEvents()[0]) })
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s: %v, want %v", name, got[name], value)
		}
	}
	if len(got) != len(want)+1 || got["kind"] != "dropped" {
		t.Errorf("%v", got)
	}
}

// What people read says how long in few digits.
func TestSpans(t *testing.T) {
	for uptime, want := range map[float64]string{0.0015: "2ms", 59.9994: "59.999s", 61.4: "1m1s", 5400: "1h30m", 1e6: "277h46m40s"} {
		s := status()
		s.Agent = &render.RunningAgent{Uptime: uptime}
		if got := string(write(t, render.Table, s)); !strings.Contains(got, "up "+want+"\n") {
			t.Errorf("%v: no %s in %s", time.Duration(uptime), want, got)
		}
	}
}
