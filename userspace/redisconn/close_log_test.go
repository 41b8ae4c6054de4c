package redisconn

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// To close tells nothing of servers, however they are: what ends then is not their fault.
func TestCloseTellsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		failures int
		wait     time.Duration
	}{
		"well":             {0, time.Millisecond},
		"has failed twice": {inARow - 1, time.Millisecond},
		"left alone":       {inARow, 2 * firstPause}, // a probe is under way
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, 1, config.Redis{})
				b.fake.set(fail(answered("OOM")))
				for range c.failures {
					_, _ = b.Do(ask("a"), 0)
				}
				b.fake.set(never)
				b.Start(ask("a"), func(string, error) {})
				time.Sleep(c.wait)
				synctest.Wait()
				lines, states := len(*b.log.lines), len(b.states)
				if err := b.Close(); err != nil {
					t.Error(err)
				}
				if got := (*b.log.lines)[lines:]; len(got) > 0 || len(b.states) > states {
					t.Errorf("%q, %v", got, b.states[states:])
				}
			})
		})
	}
}
