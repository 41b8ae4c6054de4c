package flow_test

import (
	"context"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/bench/bpf"
	"github.com/headgate/headgate/test/bench/flow"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/netlab"
)

const (
	port        = 53
	firstSource = 10 << 24
	sources     = 256
)

// TestFramesReachASocket sends frames through a whole network stack, which discards those with a wrong checksum.
func TestFramesReachASocket(t *testing.T) {
	need.Root(t)
	const frames = 5000
	f := open(t)
	conn := listen(t, f.Pair.Far)
	arrived, err := f.Run(frames)
	if err != nil || arrived.Packets != frames || arrived.PerSecond() <= 0 {
		t.Fatalf("arrived %+v, %v, want %d packets", arrived, err, frames)
	}
	seen := map[netip.Addr]int{}
	for i := range frames {
		_, from, err := conn.ReadFromUDPAddrPort(nil)
		if err != nil {
			t.Fatalf("after %d of %d datagrams: %v", i, frames, err)
		}
		seen[from.Addr().Unmap()]++
	}
	if len(seen) != sources {
		t.Errorf("%d sources, want %d", len(seen), sources)
	}
	for source := range seen {
		if !netip.MustParsePrefix("10.0.0.0/24").Contains(source) {
			t.Errorf("source %v", source)
		}
	}
}

// open returns a flow that reaches the stack at the far end.
func open(t *testing.T) *flow.Flow {
	t.Helper()
	f, err := flow.Open(flow.Options{FirstSource: firstSource, Sources: sources, Port: port})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := f.Receive(f.Programs[bpf.Pass]); err != nil {
		t.Fatal(err)
	}
	return f
}

// listen gives the end the address that frames are for, and opens a socket with room for all of them.
func listen(t *testing.T, end *netlab.End) *net.UDPConn {
	t.Helper()
	var conn *net.UDPConn
	err := end.Namespace.Do(func() error {
		addr := &netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(198, 51, 100, 1).To4(), Mask: net.CIDRMask(32, 32)}}
		link, err := netlink.LinkByIndex(end.Index)
		if err != nil {
			return err
		}
		if err := netlink.AddrAdd(link, addr); err != nil {
			return err
		}
		config := net.ListenConfig{Control: roomy}
		c, err := config.ListenPacket(context.Background(), "udp4", netip.AddrPortFrom(netip.IPv4Unspecified(), port).String())
		if err != nil {
			return err
		}
		conn = c.(*net.UDPConn)
		return conn.SetReadDeadline(time.Now().Add(netlab.WaitLimit))
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func roomy(_, _ string, c syscall.RawConn) (err error) {
	const bytes = 64 << 20
	failed := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, bytes)
	})
	if failed != nil {
		return failed
	}
	return err
}
