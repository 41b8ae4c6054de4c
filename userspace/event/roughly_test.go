package event_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/event"
)

func TestRoughly(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		1234567 * time.Nanosecond: time.Millisecond, 999 * time.Millisecond: 999 * time.Millisecond,
		1234 * time.Millisecond: time.Second, 89*time.Second + 600*time.Millisecond: 90 * time.Second,
	} {
		if got := event.Roughly(d); got != want {
			t.Errorf("%v is roughly %v, want %v", d, got, want)
		}
	}
}
