package stage_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/demo/stage"
)

// Waiting ends with ctx, and time that is over does not hide that ctx is.
func TestSleepUntilEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, at := range []int64{stage.BootTime() + time.Hour.Nanoseconds(), 0} {
		if err := stage.SleepUntil(ctx, at); !errors.Is(err, context.Canceled) {
			t.Errorf("until %d: error %v, want %v", at, err, context.Canceled)
		}
	}
	if err := stage.SleepUntil(t.Context(), 0); err != nil {
		t.Errorf("error %v, want none", err)
	}
}
