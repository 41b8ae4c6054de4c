package rate_test

import (
	"math"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/rate"
)

func TestDefaultBurst(t *testing.T) {
	tests := []struct {
		rate            rate.Rate
		inSecond, burst uint64
	}{
		{rate.Rate{}, 0, 0},
		{packets(10_000, time.Second), 10_000, 10_000},
		{packets(90, time.Minute), 1, 1},
		{packets(119, time.Minute), 1, 1},
		{packets(120, time.Minute), 2, 2},
		{packets(30, time.Minute), 0, 1},
		{packets(6, time.Hour), 0, 1},
		{packets(100_000_000, time.Second), 100_000_000, 100_000_000},
		{bytes(1, time.Second), 1, 64 << 10},
		{bytes(64<<10, time.Second), 64 << 10, 64 << 10},
		{bytes(12_500_000, time.Second), 12_500_000, 12_500_000},
		{bytes(3, 7*time.Millisecond), 428, 64 << 10},
		{requests(10, time.Second), 10, 10},
		{packets(math.MaxUint64, time.Nanosecond), math.MaxUint64, math.MaxUint64},
		{packets(5, -time.Second), 0, 1},
	}
	for _, tt := range tests {
		if got := tt.rate.InSecond(); got != tt.inSecond {
			t.Errorf("%v: %d in a second, want %d", tt.rate, got, tt.inSecond)
		}
		if got := tt.rate.DefaultBurst(); got != tt.burst {
			t.Errorf("%v: burst %d, want %d", tt.rate, got, tt.burst)
		}
	}
}
