//go:build linux

package netlab_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/netlab/netlabtest"
	"github.com/headgate/headgate/test/packet"
)

// TestNothingOvertakesAMark has frames come to the network stack several at a
// time, as on a busy CPU: IP packets, and frames that no protocol of the kernel
// wants, with marks among them.
func TestNothingOvertakesAMark(t *testing.T) {
	const bursts = 100 // without order, dozens of marks are wrong
	pair := netlabtest.Pair(t, netlab.PairOptions{})
	attach(t, pair.Far, native)
	receiveInThread(t, pair.Far)
	s, c := netlabtest.Sender(t, pair.Near), netlabtest.Counter(t, pair.Far, protocol)
	ip := packet.UDPFrame("203.0.113.7", "192.0.2.1", 53, 18)
	other := packet.Build(packet.Ethernet{EtherType: new(uint16(0x88b6))}, packet.Zeros(46))
	unknown, _ := protocol(other)
	want := netlab.Counts[string]{
		"IPv4 protocol 17": {Packets: 2, Bytes: 2 * 60},
		unknown:            {Packets: 2, Bytes: 2 * 60},
	}
	for range bursts {
		for _, mark := range sendMarked(t, s, ip, other, ip, other) {
			got, err := c.Wait(t.Context(), mark)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("between two marks (-want +got):\n%s", diff)
			}
		}
	}
}

// sendMarked sends the frames and a mark again and again, but fewer than the 256
// frames that a veth queues: the thread that receives may not run for a while.
func sendMarked(t *testing.T, s *netlab.Sender, frames ...[]byte) (marks []netlab.Mark) {
	t.Helper()
	for range 20 {
		if err := s.Send(frames...); err != nil {
			t.Fatal(err)
		}
		mark, err := s.Mark()
		if err != nil {
			t.Fatal(err)
		}
		marks = append(marks, mark)
	}
	return marks
}

// receiveInThread has the kernel receive in a thread of its own, on whichever CPU
// is free, and not in the system call that sends: so frames pile up meanwhile.
// It needs a native XDP program that is there already.
func receiveInThread(t *testing.T, end *netlab.End) {
	t.Helper()
	dir := t.TempDir()
	err := end.Namespace.Do(func() error {
		// A file system of interfaces shows those of the namespace that mounts it.
		return unix.Mount("sysfs", dir, "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	if err := os.WriteFile(filepath.Join(dir, "class/net", end.Name, "threaded"), []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
}
