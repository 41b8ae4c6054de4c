//go:build linux

package netlab_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/netlab/netlabtest"
	"github.com/headgate/headgate/test/packet"
)

// receivedFrames returns how many frames the interface received since it was
// made.
func receivedFrames(t *testing.T, end *netlab.End) (n uint64) {
	t.Helper()
	err := end.Namespace.Do(func() error {
		link, err := netlink.LinkByIndex(end.Index)
		if err == nil {
			n = link.Attrs().Statistics.RxPackets
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSendErrors(t *testing.T) {
	pair, s, _ := link(t, netlab.PairOptions{})
	tests := []struct {
		name  string
		frame []byte
		want  string
	}{
		{"above the MTU", packet.UDPFrame("203.0.113.7", "192.0.2.1", 53, 1500), "message too long"},
		{"shorter than a header", make([]byte, 13), "frame 1 of 2, 13 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := s.Send(tt.frame, tt.frame)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
	if n := receivedFrames(t, pair.Far); n != 0 {
		t.Errorf("%d frames arrived, want none", n)
	}
}

func TestSendToDownInterface(t *testing.T) {
	pair, s, _ := link(t, netlab.PairOptions{})
	err := pair.Far.Namespace.Do(func() error {
		link, err := netlink.LinkByIndex(pair.Far.Index)
		if err != nil {
			return err
		}
		return netlink.LinkSetDown(link)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(packet.UDPFrame("203.0.113.7", "192.0.2.1", 53, 0)); err == nil {
		t.Error("sending to an interface that is down did not fail")
	}
}

func TestWaitEnds(t *testing.T) {
	_, _, c := link(t, netlab.PairOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Wait(ctx, netlab.Mark{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	other, err := netlab.NewCounter(netlabtest.Pair(t, netlab.PairOptions{}).Far, packet.Source)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Wait(t.Context(), netlab.Mark{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("error %v, want %v", err, os.ErrClosed)
	}
}

// TestOverflow holds the counter up until its socket has no room left, and
// checks that the loss comes out.
func TestOverflow(t *testing.T) {
	pair := netlabtest.Pair(t, netlab.PairOptions{MTU: 65535})
	s := netlabtest.Sender(t, pair.Near)
	resume, room := make(chan struct{}), make(chan struct{})
	seen := 0
	c := netlabtest.Counter(t, pair.Far, func([]byte) (int, bool) {
		<-resume
		if seen++; seen == 10 {
			close(room)
		}
		return 0, true
	})
	frame := packet.Build(packet.Ethernet{}, packet.IPv4{}, packet.Zeros(65000))
	// Twice 64 MiB, and some more.
	if err := s.SendN(frame, 2500); err != nil {
		t.Fatal(err)
	}
	close(resume)
	<-room // or the mark would be lost as well
	_, err := netlab.Exchange(t.Context(), s, c)
	if err == nil {
		t.Fatal("losing frames did not fail")
	}
	if !strings.Contains(err.Error(), "no room for") {
		t.Errorf("error %v, want one about lost frames", err)
	}
}

func TestPairErrors(t *testing.T) {
	ns := netlabtest.Namespace(t)
	if _, err := netlab.NewPair(ns, ns, netlab.PairOptions{NearName: "same", FarName: "same"}); !errors.Is(err, unix.EEXIST) {
		t.Errorf("error %v, want %v", err, unix.EEXIST)
	}
	if _, err := netlab.NewPair(ns, ns, netlab.PairOptions{MTU: 10}); err == nil {
		t.Error("an MTU of 10 did not fail")
	}
	err := ns.Do(func() error {
		links, err := netlink.LinkList()
		if len(links) != 1 {
			t.Errorf("%d interfaces left, want lo only", len(links))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAddressesAtOneEnd is about the other end, which gets neighbours that it
// has no address to talk to from.
func TestAddressesAtOneEnd(t *testing.T) {
	for _, prefix := range []string{"192.0.2.1/24", "2001:db8::1/64"} {
		addrs := []netip.Prefix{netip.MustParsePrefix(prefix)}
		netlabtest.Pair(t, netlab.PairOptions{NearAddrs: addrs})
		netlabtest.Pair(t, netlab.PairOptions{FarAddrs: addrs})
	}
}
