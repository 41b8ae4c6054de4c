package metrics_test

import (
	"testing"

	"github.com/headgate/headgate/userspace/metrics"
)

// Redis is up where every key is asked about, and its health is one of those that there are.
func TestStoreUp(t *testing.T) {
	for health, want := range map[string]float64{"up": 1, "partly": 0, "probing": 0, "down": 0} {
		got := gather(t, metrics.New(metrics.Sources{Store: func() *metrics.Store { return &metrics.Store{Health: health} }}))
		wantValue(t, got, "headgate_store_up", want)
		for _, s := range got["headgate_store_health"].Metric {
			if is := s.GetGauge().GetValue() == 1; is != (label(s, "health") == health) {
				t.Errorf("%s: series %v", health, s)
			}
		}
	}
}

// A fleet that was never seen has no time at which it was.
func TestFleetNeverSeen(t *testing.T) {
	got := gather(t, metrics.New(metrics.Sources{Fleet: func() *metrics.Fleet { return &metrics.Fleet{Members: 1} }}))
	wantValue(t, got, "headgate_fleet_members", 1)
	if f := got["headgate_fleet_last_seen_timestamp_seconds"]; f != nil {
		t.Errorf("%v", f)
	}
}
