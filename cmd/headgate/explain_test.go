package main

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
)

func TestExplain(t *testing.T) {
	tests := []struct {
		limit, burst string
		want         render.Explanation
	}{
		{"1000pps", "100", render.Explanation{
			Limit: "1kpps", Unit: "packets", Burst: 100, AtOnce: 100, Interval: 1e-3, Refill: 0.1,
			InSecond: 1100, InMinute: 60100, PerSecond: 1000,
		}},
		{"500pps", "", render.Explanation{
			Limit: "500pps", Unit: "packets", Burst: 500, DefaultBurst: true, AtOnce: 500, Interval: 2e-3,
			Refill: 1, InSecond: 1000, InMinute: 30500, PerSecond: 500,
		}},
		{"30ppm", "", render.Explanation{
			Limit: "30ppm", Unit: "packets", Burst: 1, DefaultBurst: true, AtOnce: 1, Interval: 2,
			Refill: 2, InSecond: 1, InMinute: 31, PerSecond: 0.5,
		}},
		{"100Mbit/s", "1MB", render.Explanation{
			Limit: "100Mbit/s", Unit: "bytes", Burst: 1e6, AtOnce: 1e6, Interval: 8e-8, Refill: 0.08,
			InSecond: 13.5e6, InMinute: 751e6, PerSecond: 12.5e6,
		}},
		{"8kbit/s", "", render.Explanation{
			Limit: "8kbit/s", Unit: "bytes", Burst: 65536, DefaultBurst: true, AtOnce: 65536, Interval: 1e-3,
			Refill: 65.536, InSecond: 66536, InMinute: 125536, PerSecond: 1000,
		}},
		{"10r/s", "20", render.Explanation{
			Limit: "10r/s", Unit: "requests", Algorithm: "leaky", Prompt: 21, Burst: 20, AtOnce: 21, Interval: 0.1, Refill: 2.1,
			InSecond: 31, InMinute: 621, PerSecond: 10,
		}},
		{"30r/m", "", render.Explanation{
			Limit: "30r/m", Unit: "requests", Algorithm: "leaky", Prompt: 1, DefaultBurst: true, AtOnce: 1, Interval: 2, Refill: 2,
			InSecond: 1, InMinute: 31, PerSecond: 0.5,
		}},
	}
	for _, tt := range tests {
		got, err := explain(tt.limit, &explainFlags{burst: tt.burst})
		if err != nil {
			t.Errorf("%s: %v", tt.limit, err)
			continue
		}
		got.Notes = nil
		near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Max(a, b) })
		if diff := cmp.Diff(tt.want, got, near); diff != "" {
			t.Errorf("%s burst %q (-want +got):\n%s", tt.limit, tt.burst, diff)
		}
	}
}

// The limiter never lets more pass than was asked for, and less by under 0.1 %.
func TestExplainSaysWhatRoundingCosts(t *testing.T) {
	for _, text := range []string{"3Mpps", "7kpps", "99999999pps", "399Gbit/s", "7B/s"} {
		x, err := explain(text, &explainFlags{})
		if err != nil {
			t.Fatal(err)
		}
		if x.Error < 0 || x.Error >= 0.1 {
			t.Errorf("%s: %g %%", text, x.Error)
		}
	}
	x, err := explain("3Mpps", &explainFlags{burst: "1"})
	if err != nil || x.Error == 0 || x.PerSecond >= 3e6 {
		t.Errorf("3Mpps has no whole cost: %+v, %v", x, err)
	}
}

// What it says of any second is what the specification admits: all at once, and then each packet as
// soon as it fits, the last one when the second is over.
func TestExplainAgreesWithTheLimiter(t *testing.T) {
	for _, text := range []string{"1000pps", "7pps", "90ppm"} {
		x, err := explain(text, &explainFlags{burst: "5"})
		if err != nil {
			t.Fatal(err)
		}
		r, err := rate.ParsePackets(text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := limit.Compile(r, 5)
		if err != nil {
			t.Fatal(err)
		}
		if got := admitted(p, 1e9); got != x.InSecond {
			t.Errorf("%s: %d in a second, said %d", text, got, x.InSecond)
		}
		if got := admitted(p, 60e9); got != x.InMinute {
			t.Errorf("%s: %d in a minute, said %d", text, got, x.InMinute)
		}
	}
}

func admitted(p limit.Params, period uint64) (n uint64) {
	const start = 1 << 40
	s, now := p.Fresh(start), uint64(start)
	for now <= start+period {
		if p.Take(&s, 1, now) {
			n++
			continue
		}
		wait, _ := p.RetryAfter(s, 1, now)
		now += wait
	}
	return n
}

func TestExplainNotes(t *testing.T) {
	for text, want := range map[string]string{
		"10r/s --burst 20":       "`limit_req burst=20 nodelay`",
		"64KiB/s --burst 1000":   "A packet of more than 1000 bytes never passes",
		"64KiB/s --burst 65534":  "A packet of more than 65534 bytes never passes",
		"64KiB/s --burst 65535":  "",
		"1000pps --burst 1":      "",
		"64KiB/s --burst 1000B ": "a packet of 1000 bytes every 15.26ms",
	} {
		c := newConsole()
		if code := c.run(t, append([]string{"explain"}, strings.Fields(text)...)...); code != exitDone {
			t.Errorf("%s: exit %d, %s", text, code, c.err.String())
		}
		out := c.out.String()
		if !strings.Contains(out, want) || want == "" && strings.Contains(out, "\n\n") {
			t.Errorf("%s: want %q in\n%s", text, want, out)
		}
	}
}
