package demo

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/headgate/headgate/test/packet"
)

func TestUnblocked(t *testing.T) {
	slack := clockError.Nanoseconds()
	tests := []struct {
		name        string
		w           window
		least, most int
	}{
		{"long before", window{0, hour / 2}, 0, 0},
		{"just before", window{0, hour - slack - 1}, 0, 0},
		{"perhaps over at the end", window{0, hour - slack}, 0, 7},
		{"over in between", window{0, 2 * hour}, 0, 7},
		{"perhaps not over", window{hour + slack - 1, 2 * hour}, 0, 7},
		{"over", window{hour + slack, 2 * hour}, 7, 7},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if least, most := unblocked(7, tt.w, hour); least != tt.least || most != tt.most {
				t.Errorf("%d to %d, want %d to %d", least, most, tt.least, tt.most)
			}
		})
	}
}

// All addresses of a source are different ones, and count as that source.
func TestFrames(t *testing.T) {
	classify := classifier(cast())
	for n, s := range cast() {
		seen := map[netip.Addr]bool{}
		for _, frame := range framesOf(s) {
			if member, ok := classify(frame); !ok || member != n {
				t.Errorf("a frame of %s counts as member %d, %t, want %d", s.name(), member, ok, n)
			}
			addr, _ := packet.Source(frame)
			seen[addr] = true
		}
		if len(seen) != s.addresses {
			t.Errorf("%s sends from %d addresses, want %d", s.name(), len(seen), s.addresses)
		}
	}
	for _, other := range [][]byte{
		packet.UDPFrame("198.51.100.1", "192.0.2.1", 53, 18),
		packet.Build(packet.Ethernet{}, packet.ARP{}),
	} {
		if member, ok := classify(other); ok {
			t.Errorf("a frame of nobody counts as member %d", member)
		}
	}
}

// Waiting ends with ctx, and time that is over does not hide that ctx is.
func TestSleepUntilEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, at := range []int64{bootTime() + hour, 0} {
		if err := sleepUntil(ctx, at); !errors.Is(err, context.Canceled) {
			t.Errorf("until %d: error %v, want %v", at, err, context.Canceled)
		}
	}
	if err := sleepUntil(t.Context(), 0); err != nil {
		t.Errorf("error %v, want none", err)
	}
}
