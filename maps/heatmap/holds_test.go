package heatmap_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/heatmap"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/rate"
)

const mebibyte = 1 << 20

func packets(t *testing.T, text string, burst uint64) wire.Limit {
	t.Helper()
	r, err := rate.ParsePackets(text)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Limit{Packets: wire.Quota{Rate: r, Burst: burst}}
}

func bytes(t *testing.T, text string, burst uint64) wire.Limit {
	t.Helper()
	r, err := rate.ParseBandwidth(text)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Limit{Bytes: wire.Quota{Rate: r, Burst: burst}}
}

// A table of 1 MiB has 65,536 cells, of which the policy of slot 0 has half.
func TestHolds(t *testing.T) {
	both := packets(t, "1kpps", 1000)
	both.Bytes = bytes(t, "10kB/s", 64<<10).Bytes
	for name, tt := range map[string]struct {
		memory uint64
		slot   int
		limit  wire.Limit
		want   float64
	}{
		"1 ms a packet":         {mebibyte, 0, packets(t, "1kpps", 1000), 16_384_000},
		"0.1 ms":                {mebibyte, 0, packets(t, "10kpps", 1000), 163_840_000},
		"the next slot":         {mebibyte, 1, packets(t, "1kpps", 1000), 8_192_000},
		"the last slot":         {mebibyte, 7, packets(t, "1kpps", 1000), 128_000},
		"twice the table":       {2 * mebibyte, 0, packets(t, "1kpps", 1000), 32_768_000},
		"rounded down":          {2*mebibyte - 1, 0, packets(t, "1kpps", 1000), 16_384_000},
		"the least there is":    {1, 7, packets(t, "1kpps", 1000), 2000},
		"46 bytes at 1 us":      {mebibyte, 0, bytes(t, "1MB/s", 64<<10), math.Round(16384 / 46e-6)},
		"bytes drain slower":    {mebibyte, 0, both, math.Round(16384 / 4.6e-3)},
		"burst 4 lets wait":     {mebibyte, 0, packets(t, "1kpps", 4), 16_384_000},
		"burst 3 lets nobody":   {mebibyte, 0, packets(t, "1kpps", 3), 4_096_000},
		"bytes that do not":     {mebibyte, 0, bytes(t, "1MB/s", 4*46-1), math.Round(4096 / 46e-6)},
		"one packet in an hour": {mebibyte, 0, packets(t, "1pph", 1), math.Round(4096. / 3600)},
		"no limit":              {mebibyte, 0, wire.Limit{}, math.Inf(1)},
	} {
		if got := math.Round(heatmap.Holds(tt.memory, tt.slot, tt.limit)); got != tt.want {
			t.Errorf("%s: holds %.0f, want %.0f", name, got, tt.want)
		}
	}
}

// TestHoldsWhatItSays floods a table at the rate that it holds: of a million strangers at most two in a
// thousand find neither a cell nor room behind whoever has one. At four times the rate many do.
func TestHoldsWhatItSays(t *testing.T) {
	for _, burst := range []uint64{1, 3, 4, 1000} {
		limit := packets(t, "1kpps", burst)
		holds := heatmap.Holds(heatmap.MinMemory, 0, limit)
		if share := hot(holds, burst); share > 0.002 {
			t.Errorf("burst %d: %.2f %% of a flood of %.0f packets a second are not cold", burst, 100*share, holds)
		}
		if share := hot(4*holds, burst); share < 0.01 {
			t.Errorf("burst %d: %.2f %% of one four times as large are not cold", burst, 100*share)
		}
	}
}

// hot returns the share of a flood on half of the least table that is not cold, at 1 ms a packet.
func hot(perSecond float64, burst uint64) float64 {
	const strangers, charge = 1_000_000, 1e-3
	random := rand.New(rand.NewPCG(1, 2))
	var lines [heatmap.MinMemory / 64 / 2][bpf.HeatCells]float64
	room := max(float64(burst)/2*charge, charge)
	now, hot := 0.0, 0
	for range strangers {
		now += random.ExpFloat64() / perSecond
		line := &lines[random.IntN(len(lines))]
		least := 0
		for i := range line {
			if line[i] < line[least] {
				least = i
			}
		}
		if next := max(line[least], now) + charge; next-now <= room+charge/1e6 {
			line[least] = next
		} else {
			hot++
		}
	}
	return float64(hot) / strangers
}

// config returns a configuration with a policy for each limit, in slots 0, 1 and so on.
func config(t *testing.T, policies ...policymap.Policy) policymap.Config {
	t.Helper()
	c := policymap.NewConfig()
	for i, p := range policies {
		p.Name = string(rune('a' + i))
		p.Ports = policymap.Ports{First: uint16(i + 1), Last: uint16(i + 1)}
		if err := c.Set(p, [policymap.MaxPolicies][bpf.VerdictLen]bpf.Counter{}); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// Each policy that counts by source is told of, by its own slot.
func TestHoldsOf(t *testing.T) {
	c := config(t,
		policymap.Policy{Limit: packets(t, "1kpps", 1000)},
		policymap.Policy{Limit: packets(t, "1kpps", 1000), Key: policymap.Shared},
		policymap.Policy{Limit: packets(t, "6pph", 100)}, // 17 hours
		policymap.Policy{Limit: packets(t, "10kpps", 1000), DryRun: true},
	)
	want := []heatmap.Hold{{Policy: "a", Rate: 16_384_000}, {Policy: "c", Exact: true}, {Policy: "d", Rate: 20_480_000}}
	if diff := cmp.Diff(want, heatmap.HoldsOf(mebibyte, c.Policies)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if least, ok := heatmap.Least(mebibyte, c.Policies); !ok || least != want[0] {
		t.Errorf("the least is %v, %v", least, ok)
	}
}

// The default table has room for a flood of 10 Mpps, unless that takes more than there may be.
func TestMemoryFor(t *testing.T) {
	slow := policymap.Policy{Limit: packets(t, "100pps", 100)}
	fast := policymap.Policy{Limit: packets(t, "1kpps", 1000)}
	for name, tt := range map[string]struct {
		policies []policymap.Policy
		want     uint64
	}{
		"no policy":       {nil, heatmap.DefaultMemory},
		"no limit":        {[]policymap.Policy{{Name: policymap.Default}}, heatmap.DefaultMemory},
		"1 ms a packet":   {config(t, fast).Policies, heatmap.DefaultMemory},
		"10 ms":           {config(t, slow).Policies, 8 * mebibyte},
		"10 ms in slot 1": {config(t, fast, slow).Policies, 16 * mebibyte},
		"1 s":             {config(t, policymap.Policy{Limit: packets(t, "1pps", 4)}).Policies, heatmap.MostByDefault},
		"without cells":   {config(t, policymap.Policy{Limit: packets(t, "6pph", 100)}).Policies, heatmap.DefaultMemory},
		"that all share":  {config(t, policymap.Policy{Limit: packets(t, "1pps", 4), Key: policymap.Shared}).Policies, heatmap.DefaultMemory},
		"exactly 64 MiB":  {config(t, policymap.Policy{Limit: packets(t, "10pps", 10)}).Policies, heatmap.MostByDefault},
	} {
		if got := heatmap.MemoryFor(tt.policies, heatmap.MostByDefault); got != tt.want {
			t.Errorf("%s: %d MiB, want %d", name, got>>20, tt.want>>20)
		}
	}
	if got := heatmap.MemoryFor(config(t, policymap.Policy{Limit: packets(t, "5pps", 5)}).Policies, heatmap.MaxMemory); got != 128*mebibyte {
		t.Errorf("where 1 GiB is allowed: %d MiB", got>>20)
	}
}

func TestRounded(t *testing.T) {
	for memory, want := range map[uint64]uint64{
		0: heatmap.MinMemory, 16 << 10: 16 << 10, 65 << 10: 64 << 10, 3 * mebibyte: 2 * mebibyte, 5 << 30: heatmap.MaxMemory,
	} {
		if got := heatmap.Rounded(memory); got != want {
			t.Errorf("%d bytes become %d, want %d", memory, got, want)
		}
	}
}
