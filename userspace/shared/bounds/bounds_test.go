package bounds_test

import (
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/shared/bounds"
)

const day = 24 * time.Hour

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		count       uint64
		per         time.Duration
		cost, drain uint64
	}{
		{3, time.Second, 1_000_000, 3},
		{10, time.Second, 100_000, 1},
		{7, time.Hour, 3_600_000_000, 7},
		{100_000, time.Second, 10, 1},
		{100_000_000, time.Second, 1, 100},
		{30, time.Minute, 2_000_000, 1},
	} {
		cost, drain := bounds.Ticks(test.count, test.per)
		if cost != test.cost || drain != test.drain {
			t.Errorf("%d per %v: %d, %d; want %d, %d", test.count, test.per, cost, drain, test.cost, test.drain)
		}
	}
}

func TestBounds(t *testing.T) {
	for _, test := range []struct {
		name string
		err  error
		want string // a part of the error; empty for none
	}{
		{"leaky", bounds.Leaky(10, time.Second, 20), ""},
		{"leaky, a large burst", bounds.Leaky(10, time.Second, 316_223_998), ""},
		{"leaky, a burst of more than a year", bounds.Leaky(10, time.Second, 316_223_999), "use at most 316223998"},
		{"leaky, exact", bounds.Leaky(3_000_001, time.Second, 9_007_199_252), ""},
		{"leaky, not exact", bounds.Leaky(3_000_001, time.Second, 9_007_199_253), "use at most 9007199252"},
		{"leaky, slow", bounds.Leaky(1, time.Hour, 8782), ""},
		{"leaky, too slow", bounds.Leaky(1, time.Hour, 8783), "use at most 8782"},
		{"leaky, 0", bounds.Leaky(0, time.Second, 0), "at least 1"},
		{"window", bounds.Window(1<<51, time.Second), ""},
		{"window, many", bounds.Window(1<<51+1, time.Second), "use at most 2251799813685248"},
		{"window, long", bounds.Window(1, 183*day), ""},
		{"window, too long", bounds.Window(1, 183*day+time.Second), "use at most 4392h"},
		{"window, short", bounds.Window(1, time.Nanosecond), "microsecond"},
		{"window, uneven", bounds.Window(1, time.Second+1), "microsecond"},
		{"window, no time", bounds.Window(1, 0), "microsecond"},
		{"sliding", bounds.Sliding(2_501_999, time.Hour), ""},
		{"sliding, many", bounds.Sliding(2_502_000, time.Hour), "use at most 2501999, or algorithm window"},
		{"sliding, 0", bounds.Sliding(0, time.Hour), "at least 1"},
		{"concurrent", bounds.Concurrent(1_000_000), ""},
		{"concurrent, many", bounds.Concurrent(1_000_001), "use at most 1000000"},
		{"concurrent, 0", bounds.Concurrent(0), "at least 1"},
	} {
		switch {
		case test.want == "" && test.err != nil:
			t.Errorf("%s: %v", test.name, test.err)
		case test.want != "" && (test.err == nil || !strings.Contains(test.err.Error(), test.want)):
			t.Errorf("%s: %v; want %q", test.name, test.err, test.want)
		}
	}
}
