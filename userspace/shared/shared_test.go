package shared_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/shared"
)

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		limit shared.Limit
		want  string
	}{
		{shared.Limit{Algorithm: config.Leaky, Count: 3, Per: time.Second, Burst: 5, Delay: 5}, ""},
		{shared.Limit{Algorithm: config.Leaky, Count: 3, Per: time.Second, Burst: 5, Delay: 6}, "delay 6: more than the burst; use at most 5"},
		{
			shared.Limit{Algorithm: config.Leaky, Count: 1, Per: time.Hour, Burst: 9000},
			"burst 9000 at 1 requests per 1h0m0s: more than what machines can share; use at most 8782",
		},
		{shared.Limit{Algorithm: config.Window, Count: 3, Per: time.Second}, ""},
		{
			shared.Limit{Algorithm: config.Window, Count: 3, Per: 1},
			"3 requests per 1ns: machines share times in whole microseconds only; use at least 1µs",
		},
		{shared.Limit{Algorithm: config.Sliding, Count: 3, Per: time.Second}, ""},
		{
			shared.Limit{Algorithm: config.Sliding, Count: 3_000_000, Per: time.Hour},
			"3000000 requests per 1h0m0s: more than a sliding window that machines share can count; use at most 2501999, or algorithm window",
		},
		{shared.Limit{Algorithm: config.Concurrent, Count: 3}, ""},
		{shared.Limit{Algorithm: config.Concurrent}, "0 requests at a time would let nothing pass; use at least 1"},
		{
			shared.Limit{Algorithm: config.Sketch, Count: 3, Per: time.Second},
			"algorithm sketch: machines cannot share it; use leaky, window, sliding or concurrent",
		},
	} {
		got := ""
		if err := test.limit.Check(); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%+v:\n got %q\nwant %q", test.limit, got, test.want)
		}
	}
}
