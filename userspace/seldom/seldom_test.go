package seldom_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/userspace/seldom"
)

func TestEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e seldom.Event
		for _, step := range []struct {
			after time.Duration
			times uint64 // 0 if nothing is logged
		}{{0, 1}, {0, 0}, {seldom.Interval - 1, 0}, {1, 3}, {1, 0}, {2 * seldom.Interval, 2}} {
			time.Sleep(step.after)
			if times, ok := e.Now(); times != step.times || ok != (times > 0) {
				t.Errorf("after %v: %d times, %t, want %d", step.after, times, ok, step.times)
			}
		}
	})
}
