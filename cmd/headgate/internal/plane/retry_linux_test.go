package plane

import (
	"testing"
	"time"
)

// Attempts that fail come ever later, up to a bound, and anew for an interface that was made again.
func TestRetriesComeLater(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	var was watched
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		was = was.failed(7, "no", now)
		if wait := was.retry.Sub(now); wait != want*time.Second || was.problem != "no" || was.index != 7 {
			t.Errorf("after attempt %d: %+v, want another in %v s", i+1, was, int(want))
		}
	}
	if was = was.failed(8, "no", now); was.wait != time.Second {
		t.Errorf("another interface of the name is tried again after %v", was.wait)
	}
}
