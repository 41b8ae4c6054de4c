package packets

import (
	"net/netip"
	"testing"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/demo/theory"
	"github.com/headgate/headgate/test/packet"
)

func TestUnblocked(t *testing.T) {
	const hour = int64(time.Hour)
	slack := theory.ClockError.Nanoseconds()
	tests := []struct {
		name        string
		w           theory.Window
		least, most int
	}{
		{"long before", theory.Window{Start: 0, End: hour / 2}, 0, 0},
		{"just before", theory.Window{Start: 0, End: hour - slack - 1}, 0, 0},
		{"perhaps over at the end", theory.Window{Start: 0, End: hour - slack}, 0, 7},
		{"over in between", theory.Window{Start: 0, End: 2 * hour}, 0, 7},
		{"perhaps not over", theory.Window{Start: hour + slack - 1, End: 2 * hour}, 0, 7},
		{"over", theory.Window{Start: hour + slack, End: 2 * hour}, 7, 7},
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
