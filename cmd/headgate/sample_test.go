package main

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/maps/bucketmap"
	"github.com/headgate/headgate/maps/statmap"
)

func packets(n uint64) statmap.Counter { return statmap.Counter{Packets: n, Bytes: 100 * n} }

func source(addr string, pass, drop, wouldDrop uint64) bucketmap.Source {
	return bucketmap.Source{
		Addr: netip.MustParseAddr(addr), PolicyID: 1,
		Pass: packets(pass), Drop: packets(drop), WouldDrop: packets(wouldDrop),
	}
}

// testSample is taken so many seconds after the first.
func testSample(t *testing.T, seconds int, sources ...bucketmap.Source) *sample {
	t.Helper()
	after := time.Duration(seconds) * time.Second
	s := &sample{
		at:       clock{wall: testNow().Add(after), boot: testBoot + uint64(after)},
		config:   testConfig(t),
		sources:  sources,
		capacity: 1000,
	}
	for _, source := range sources {
		s.total.Pass.Add(source.Pass)
		s.total.Drop.Add(source.Drop)
		s.total.WouldDrop.Add(source.WouldDrop)
	}
	return s
}

func names(top render.Top) []string {
	var names []string
	for _, s := range top {
		names = append(names, s.Source)
	}
	return names
}

func TestTopOrder(t *testing.T) {
	s := testSample(t, 0,
		source("10.0.0.1", 50, 0, 0), source("10.0.0.2", 1, 9, 0), source("10.0.0.3", 40, 0, 0),
		source("10.0.0.4", 30, 0, 20), source("10.0.0.5", 40, 0, 0), source("2001:db8::", 1, 9, 0),
	)
	tests := []struct {
		by    string
		limit int
		want  []string
	}{
		{byDropped, 0, []string{"10.0.0.4", "10.0.0.2", "2001:db8::/64", "10.0.0.1", "10.0.0.3", "10.0.0.5"}},
		{byDropped, 2, []string{"10.0.0.4", "10.0.0.2"}},
		{byDropped, 100, []string{"10.0.0.4", "10.0.0.2", "2001:db8::/64", "10.0.0.1", "10.0.0.3", "10.0.0.5"}},
		{byPassed, 0, []string{"10.0.0.1", "10.0.0.3", "10.0.0.5", "10.0.0.4", "10.0.0.2", "2001:db8::/64"}},
	}
	for _, tt := range tests {
		got := s.top(nil, tt.by, tt.limit)
		if diff := cmp.Diff(tt.want, names(got)); diff != "" {
			t.Errorf("by %s, %d (-want +got):\n%s", tt.by, tt.limit, diff)
		}
		for _, source := range got {
			if source.Rates != nil || source.Policy != "default" {
				t.Errorf("%s: policy %s, rates %v of one sample", source.Source, source.Policy, source.Rates)
			}
		}
	}
	if got := testSample(t, 0).top(nil, byDropped, 0); got == nil || len(got) != 0 {
		t.Errorf("no sources: %#v", got)
	}
}

// What happens now comes before what happened at some time.
func TestTopRates(t *testing.T) {
	before := testSample(t, 0,
		source("10.0.0.1", 100, 9999, 0), source("10.0.0.2", 100, 10, 0), source("10.0.0.3", 100, 500, 0))
	now := testSample(t, 2,
		source("10.0.0.1", 120, 9999, 0), source("10.0.0.2", 100, 30, 0),
		source("10.0.0.3", 100, 4, 0), // evicted and back
		source("10.0.0.4", 8, 1, 0))   // new
	want := render.Top{
		{Source: "10.0.0.2", Rates: &render.Rates{DropPackets: 10}},
		{Source: "10.0.0.3", Rates: &render.Rates{DropPackets: 2}},
		{Source: "10.0.0.4", Rates: &render.Rates{PassPackets: 4, PassBits: 3200, DropPackets: 0.5}},
		{Source: "10.0.0.1", Rates: &render.Rates{PassPackets: 10, PassBits: 8000}},
	}
	got := now.top(before, byDropped, 0)
	for i, source := range got {
		got[i] = render.TopSource{Source: source.Source, Rates: source.Rates}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := now.top(before, byPassed, 2); !slices.Equal(names(got), []string{"10.0.0.1", "10.0.0.4"}) {
		t.Errorf("by passed: %s", names(got))
	}
}

func TestTotalRates(t *testing.T) {
	before, now := testSample(t, 0), testSample(t, 4, source("10.0.0.1", 40, 8, 0))
	want := &render.Rates{PassPackets: 10, PassBits: 8000, DropPackets: 2}
	if diff := cmp.Diff(want, now.totalRates(before)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := now.totalRates(nil); got != nil {
		t.Errorf("rates of one sample: %v", got)
	}
	if got := now.totalRates(now); *got != (render.Rates{}) {
		t.Errorf("rates of no time: %v", got)
	}
}

// A few of many are the first of all, in whatever order those come.
func TestTopOfMany(t *testing.T) {
	var sources []bucketmap.Source
	for i := range 10000 {
		n := uint64(i*7919) % 10000
		addr := netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)})
		sources = append(sources, source(addr.String(), n, n, 0))
	}
	s := testSample(t, 0, sources...)
	all := names(s.top(nil, byDropped, 0))
	for _, limit := range []int{1, 20, 5000} {
		if got := names(s.top(nil, byDropped, limit)); !slices.Equal(got, all[:limit]) {
			t.Errorf("the first %d of 10000 are not the first of all", limit)
		}
	}
	if want := fmt.Sprintf("10.0.%d.%d", 9999>>8, 9999&255); all[0] != want {
		t.Errorf("first is %s, want %s", all[0], want)
	}
}

func TestSourceText(t *testing.T) {
	tests := []struct {
		addr                   string
		ipv4Prefix, ipv6Prefix int
		want                   string
	}{
		{"203.0.113.7", 32, 64, "203.0.113.7"},
		{"203.0.113.0", 24, 64, "203.0.113.0/24"},
		{"203.0.113.7", 24, 64, "203.0.113.7"}, // from before
		{"2001:db8:1:2::", 32, 64, "2001:db8:1:2::/64"},
		{"2001:db8::1", 32, 128, "2001:db8::1"},
		{"fe80::", 32, 64, "fe80::"},        // link-local sources are whole
		{"fe80:1::", 32, 64, "fe80:1::/64"}, // what is no valid address is cut as any other
		{"169.254.0.0", 16, 64, "169.254.0.0/16"},
	}
	for _, tt := range tests {
		s := sample{}
		s.config.IPv4Prefix, s.config.IPv6Prefix = tt.ipv4Prefix, tt.ipv6Prefix
		if got := s.sourceText(netip.MustParseAddr(tt.addr)); got != tt.want {
			t.Errorf("%s with /%d and /%d: %s, want %s", tt.addr, tt.ipv4Prefix, tt.ipv6Prefix, got, tt.want)
		}
	}
}
