package render

import (
	"math"
	"testing"
	"time"
)

func TestScaled(t *testing.T) {
	tests := []struct {
		got, want string
	}{
		{memory(0), "0 B"},
		{memory(1023), "1023 B"},
		{memory(1024), "1.0 KiB"},
		{memory(1 << 30), "1.0 GiB"},
		{memory(math.MaxUint64), "16777216.0 TiB"},
		{perSecond(0), "0"},
		{perSecond(0.25), "0.2"},
		{perSecond(9), "9"},
		{perSecond(10.4), "10"},
		{perSecond(999.4), "999"},
		{perSecond(999.6), "1.0k"},
		{perSecond(999949), "999.9k"},
		{perSecond(999960), "1.0M"},
		{perSecond(98.9e6), "98.9M"},
		{bitRate(8), "8 bit/s"},
		{bitRate(2.5e9), "2.5 Gbit/s"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                          "0s",
		10 * time.Second:           "10s",
		time.Minute:                "1m",
		10*time.Minute + 1:         "10m0.000000001s",
		time.Hour:                  "1h",
		90 * time.Minute:           "1h30m",
		time.Hour + time.Second:    "1h0m1s",
		1500 * time.Millisecond:    "1.5s",
		20*time.Hour + time.Minute: "20h1m",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%d ns: %q, want %q", d, got, want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for s, want := range map[float64]string{
		0:            "0s",
		0.001:        "1ms",
		1.0 / 3:      "333.3ms",
		333.33e-9:    "333ns",
		1e-12:        "0s",
		15.258789e-3: "15.26ms",
		59.99999:     "1m",
		3600:         "1h",
		123456.7:     "34h17m37s",
		1e11:         "3169 years",
	} {
		if got := seconds(s); got != want {
			t.Errorf("%g: %q, want %q", s, got, want)
		}
	}
}
