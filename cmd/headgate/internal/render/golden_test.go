package render_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/test/golden"
)

func write(t *testing.T, f render.Format, v render.View) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := render.Write(&b, f, v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// noon is in a zone of its own, so that a test sees where UTC is promised.
func noon() time.Time {
	return time.Date(2026, time.March, 1, 12, 0, 0, 123456000, time.FixedZone("east", 3600))
}

func expires(seconds int) *time.Time {
	t := noon().Truncate(time.Second).Add(time.Duration(seconds) * time.Second).UTC()
	return &t
}

func counter(packets, bytes uint64) statmap.Counter {
	return statmap.Counter{Packets: packets, Bytes: bytes}
}

func interfaces() []render.Interface {
	return []render.Interface{
		{Name: "eth0", Index: 2, Mode: "native", ProgramID: 41, Up: true},
		{Name: "eth10", Index: 13, Mode: "generic", Frags: true, ProgramID: 42},
		{Index: 104, Mode: "unknown", ProgramID: 41, Gone: true},
		{Index: 7, Mode: "unknown", ProgramID: 41},
	}
}

func views() map[string]render.View {
	return map[string]render.View{
		"attached": render.Attached{
			Interfaces: []render.AttachedInterface{
				{Interface: interfaces()[0]}, {Interface: interfaces()[1], Already: true},
			},
			Limit: "10kpps, burst 20k",
		},
		"attached_dry_run": render.Attached{
			Interfaces: []render.AttachedInterface{{Interface: interfaces()[0]}},
			Limit:      "10kpps, burst 20k",
			DryRun:     true,
		},
		"attached_enforced": render.Attached{
			Interfaces: []render.AttachedInterface{{Interface: interfaces()[0], Already: true}},
			Limit:      "10kpps, burst 20k",
			Enforced:   true,
		},
		"done": render.Done{
			Action: "block", Prefixes: []string{"203.0.113.7/32"}, Changed: 1, Text: "blocked 203.0.113.7",
		},
		"done_nothing":      render.Done{Action: "detach", Text: "nothing to change"},
		"policies":          policies(),
		"policies_estimate": policies()[:1],
		"policies_empty":    render.Policies(nil),
		"rules":             rules(),
		"rules_empty":       render.Rules(nil),
		"decision":          render.Decision{Target: "203.0.113.7", Rule: &rules()[0]},
		"decision_none":     render.Decision{Target: "203.0.113.7"},
		"stats":             stats(),
		"stats_empty": render.Stats{
			Interfaces: []render.Interface{}, Reasons: render.ReasonCounts{"under_limit": 0, "blocked": 0},
			Policies: []render.PolicyStats{}, Capacity: 1 << 20,
		},
		"top":                top(false),
		"top_rates":          top(true),
		"top_empty":          render.Top(nil),
		"status":             status(),
		"status_empty":       render.Status{Overflow: "drop", Heat: render.Heat{Policies: []render.HeldPolicy{}}, Interfaces: []render.Interface{}, Memory: render.Memory{Maps: []render.MapMemory{}}},
		"version":            render.Version{Version: "v1.2.3", Build: "4191270f6a23", Go: "go1.26.0", Platform: "linux/amd64", Kernel: "6.18.0"},
		"explanation":        explanation(),
		"explanation_bytes":  bandwidth(),
		"explanation_single": single(),
		"explanation_large":  large(),
	}
}

func policies() render.Policies {
	return render.Policies{
		{Name: "default", Key: "source", Limit: render.Limit{Rate: "10kpps", Burst: 20000}, Action: "drop", ID: 1, Overflow: "estimate"},
		{
			Name: "dns", Match: render.Match{Protocol: "udp", Ports: "53"}, Key: "shared",
			Limit:  render.Limit{Rate: "500pps", Burst: 500, Bandwidth: "100Mbit/s", BandwidthBurst: 65536},
			Action: "drop", ID: 12, Overflow: "drop",
		},
		{
			Name: "syn", Match: render.Match{Protocol: "tcp", Ports: "1000-2000", SYN: true}, Key: "source",
			Limit: render.Limit{Bandwidth: "64KiB/s", BandwidthBurst: 1000000}, Action: "dry-run", ID: 3, Overflow: "pass",
		},
		{Name: "strangers", Match: render.Match{Unverified: true}, Key: "shared", Limit: render.Limit{Rate: "200kpps", Burst: 200000}, Action: "drop", ID: 5, Overflow: "estimate"},
		{Name: "ports", Match: render.Match{Ports: "80"}, Key: "source", Limit: render.Limit{Rate: "6pph", Burst: 1}, Action: "drop", ID: 4, Overflow: "estimate"},
	}
}

func rules() render.Rules {
	return render.Rules{
		{Prefix: "203.0.113.0/24", Action: "limit", Limit: render.Limit{Rate: "100pps", Burst: 200}, Policy: "default", Origin: "cli"},
		{Prefix: "203.0.113.7/32", Action: "block", Expires: expires(600), ExpiresIn: 600, Origin: "handdown"},
		{Prefix: "2001:db8::/32", Action: "allow", Expires: expires(5400), ExpiresIn: 5400, Origin: "config"},
	}
}

func stats() render.Stats {
	return render.Stats{
		Interfaces: interfaces(),
		Pass:       counter(1100, 110000), Drop: counter(98900, 9890000), WouldDrop: counter(100, 10000),
		Reasons: render.ReasonCounts{"under_limit": 900, "over_packet_limit": 99000, "blocked": 100, "allowed": 100, "malformed": 0},
		Policies: []render.PolicyStats{
			{Name: "default", Pass: counter(1000, 100000), Drop: counter(98900, 9890000), WouldDrop: counter(100, 10000)},
			{Name: "dns"},
		},
		TrackedSources: 12, Capacity: 1 << 20, SuppressedEvents: 98000, DryRun: true, VerifiedSources: 7,
		Heat: render.HeatCounts{ColdPackets: 800, Inserts: 12, Deferred: 3},
	}
}

func top(rated bool) render.Top {
	t := render.Top{
		{Source: "203.0.113.7", Policy: "default", Pass: counter(1100, 110000), Drop: counter(98900, 9890000)},
		{Source: "2001:db8:1:2::/64", Policy: "dns", Pass: counter(7, 700), WouldDrop: counter(2, 200)},
	}
	if rated {
		t[0].Rates = &render.Rates{PassPackets: 1000, PassBits: 800000, DropPackets: 98900.4}
		t[1].Rates = &render.Rates{PassPackets: 0.5, WouldDropPackets: 0.2}
	}
	return t
}

func screen(sources render.Top, total *render.Rates) render.TopScreen {
	return render.TopScreen{
		Time: noon(), Interval: time.Second, Tracked: 2, Capacity: 1 << 20,
		Total: total, DryRun: total == nil, Sources: sources,
	}
}

func status() render.Status {
	return render.Status{
		Version: "v1.2.3", Build: "4191270f6a23", Outdated: true, Kernel: "6.18.0", Pin: "/sys/fs/bpf/headgate",
		DryRun: true, IPv4Prefix: 32, IPv6Prefix: 64, Overflow: "pass", Policies: 4, Rules: 100000,
		TrackedSources: 12, Capacity: 1 << 20, VerifiedSources: 7, Interfaces: interfaces(),
		Memory: render.Memory{Bytes: 134218752, Maps: []render.MapMemory{
			{Name: "buckets", MaxEntries: 1 << 20, Bytes: 134217728}, {Name: "globals", MaxEntries: 1, Bytes: 1024},
		}},
		Heat: heat(),
		Try:  &render.Try{Until: *expires(58), Seconds: 58},
	}
}

// heat has all that a table can be for a policy.
func heat() render.Heat {
	holds := func(pps float64) *float64 { return &pps }
	return render.Heat{MemoryBytes: 1 << 20, Cells: 65536, Policies: []render.HeldPolicy{
		{Policy: "default", HoldsPPS: holds(16_384_000)}, {Policy: "dns", HoldsPPS: holds(6.8)},
		{Policy: "counted"}, {Policy: "rare", Exact: true},
	}}
}

func explanation() render.Explanation {
	return render.Explanation{
		Limit: "1kpps", Unit: "packets", Burst: 100, AtOnce: 100, Interval: 1e-3, Refill: 0.1,
		InSecond: 1100, InMinute: 60100, PerSecond: 1000, Notes: []string{},
	}
}

func bandwidth() render.Explanation {
	return render.Explanation{
		Limit: "64KiB/s", Unit: "bytes", Burst: 65536, DefaultBurst: true, AtOnce: 65536, Interval: 1.0 / 65536,
		Refill: 1, InSecond: 131072, InMinute: 3997696, PerSecond: 65535.094043, Error: 0.00138,
		Notes: []string{"a note"},
	}
}

func single() render.Explanation {
	return render.Explanation{
		Limit: "1r/h", Unit: "requests", AtOnce: 1, Interval: 3600, Refill: 3600, InSecond: 1, InMinute: 1,
		PerSecond: 1.0 / 3600, Notes: []string{"one", "two"},
	}
}

// large has numbers too long to be read, and an error too small.
func large() render.Explanation {
	return render.Explanation{
		Limit: "2.5Mpps", Unit: "packets", Burst: 2_500_000, AtOnce: 2_500_000, Interval: 4e-7, Refill: 1,
		InSecond: 5_000_000, InMinute: 152_500_001, PerSecond: 2499999.999, Error: 2e-7, Notes: []string{},
	}
}

func TestGolden(t *testing.T) {
	for name, view := range views() {
		t.Run(name, func(t *testing.T) {
			golden.Check(t, name+".table", write(t, render.Table, view))
			golden.Check(t, name+".json", write(t, render.JSON, view))
		})
	}
}

// The live display is for people only.
func TestTopScreenGolden(t *testing.T) {
	total := &render.Rates{PassPackets: 1999.7, PassBits: 2.5e9, DropPackets: 1234567, WouldDropPackets: 0.2}
	live := write(t, render.Table, screen(top(true), total))
	golden.Check(t, "top_screen.table", live)
	for _, width := range []int{100, 80, 60, 40, 20} {
		narrow := screen(top(true), total)
		narrow.Width = width
		text := write(t, render.Table, narrow)
		golden.Check(t, fmt.Sprintf("top_screen_%d.table", width), text)
		for line := range strings.Lines(string(text)) {
			if n := utf8.RuneCountInString(line) - len("\n"); n > width {
				t.Errorf("%d characters, want at most %d: %s", n, width, line)
			}
		}
	}
	golden.Check(t, "top_screen_first.table", write(t, render.Table, screen(nil, nil)))

	around := bytes.Count(live, []byte("\n")) - len(top(true))
	if around != render.TopScreenLines {
		t.Errorf("%d lines are not sources, want %d", around, render.TopScreenLines)
	}
}

func TestEventsGolden(t *testing.T) {
	events := []render.Event{
		{
			Time: noon(), Source: netip.MustParseAddr("203.0.113.7"), SourcePort: 4711, DestPort: 53,
			Protocol: "udp", Length: 84, Verdict: "drop", Reason: "over_packet_limit", Policy: "default",
			Interface: "eth0", Suppressed: 998,
		},
		{
			Time: noon().Add(time.Second), Source: netip.MustParseAddr("2001:db8::1"), Protocol: "icmpv6",
			Length: 1500, Verdict: "would_drop", Reason: "blocked", Interface: "eth0",
		},
		{Time: noon().Add(2 * time.Second), Verdict: "drop", Reason: "malformed", Interface: "#7"},
	}
	for _, f := range []render.Format{render.Table, render.JSON} {
		var b bytes.Buffer
		out := render.NewEvents(&b, f)
		if err := out.Begin(); err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if err := out.Write(e); err != nil {
				t.Fatal(err)
			}
		}
		golden.Check(t, "events."+f.String(), b.Bytes())
	}
}
