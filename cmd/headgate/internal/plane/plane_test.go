package plane

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/agent"
	"github.com/headgate/headgate/userspace/fleet"
	"github.com/headgate/headgate/userspace/rate"
)

var (
	_ agent.Kernel = (*Plane)(nil)
	_ fleet.Kernel = (*Plane)(nil)
)

func TestScaled(t *testing.T) {
	limit := func(packets, bandwidth string, burst, bandwidthBurst uint64) wire.Limit {
		t.Helper()
		var l wire.Limit
		var err error
		if packets != "" {
			l.Packets.Burst = burst
			if l.Packets.Rate, err = rate.ParsePackets(packets); err != nil {
				t.Fatal(err)
			}
		}
		if bandwidth != "" {
			l.Bytes.Burst = bandwidthBurst
			if l.Bytes.Rate, err = rate.ParseBandwidth(bandwidth); err != nil {
				t.Fatal(err)
			}
		}
		return l
	}
	tests := []struct {
		was    wire.Limit
		factor float64
		want   wire.Limit
	}{
		{wire.Limit{}, 0.5, wire.Limit{}},
		{limit("10kpps", "100Mbit/s", 20000, 1<<20), 1, limit("10kpps", "100Mbit/s", 20000, 1<<20)},
		{limit("10kpps", "100Mbit/s", 20000, 1<<20), 0.5, limit("5kpps", "50Mbit/s", 10000, 1<<19)},
		{limit("10kpps", "", 20000, 0), 1.5, limit("15kpps", "", 30000, 0)},
		{limit("10pps", "", 10, 0), 1.0 / 3, limit("200ppm", "", 3, 0)},
		{limit("6pph", "", 3, 0), 0.01, limit("1pph", "", 1, 0)},                               // the least
		{limit("100Mpps", "400Gbit/s", 5, 1<<30), 2, limit("100Mpps", "400Gbit/s", 10, 1<<31)}, // the most
		{limit("", "1MB/s", 0, 100_000), 0.1, limit("", "100kB/s", 0, 64<<10)},                 // packets have to fit
		{limit("", "1MB/s", 0, 2000), 0.1, limit("", "100kB/s", 0, 2000)},                      // as before
		{limit("", "8bit/s", 0, 2000), 0.1, limit("", "8bit/s", 0, 2000)},
	}
	for _, tt := range tests {
		got := scaled(tt.was, tt.factor)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s times %v (-want +got):\n%s", tt.was, tt.factor, diff)
		}
		if _, err := got.Compile(); err != nil {
			t.Errorf("%s times %v: %v", tt.was, tt.factor, err)
		}
	}
}

// What takes long to read is read seldom.
func TestAged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a aged[int]
		reads := 0
		read := func() (int, error) {
			reads++
			time.Sleep(500 * time.Millisecond)
			return reads, nil
		}
		for _, step := range []struct {
			wait time.Duration
			want int
		}{{0, 1}, {9 * time.Second, 1}, {time.Second, 2}, {time.Second, 2}} {
			time.Sleep(step.wait)
			if got, err := a.get(time.Now, read); got != step.want || err != nil {
				t.Errorf("after %s: %d, %v; want %d", step.wait, got, err, step.want)
			}
		}
		a.forget()
		if got, _ := a.get(time.Now, read); got != 3 {
			t.Errorf("after it was forgotten: %d, want 3", got)
		}
	})
}
