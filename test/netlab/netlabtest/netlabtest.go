//go:build linux

package netlabtest

import (
	"errors"
	"io"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/netlab"
)

// Namespace returns a new network namespace.
func Namespace(tb testing.TB) *netlab.Namespace {
	tb.Helper()
	need.Root(tb)
	ns, err := netlab.New()
	return closed(tb, ns, err)
}

// Pair returns a veth pair between two new namespaces.
func Pair(tb testing.TB, o netlab.PairOptions) *netlab.Pair {
	tb.Helper()
	pair, err := netlab.NewPair(Namespace(tb), Namespace(tb), o)
	return closed(tb, pair, err)
}

// Move takes an interface to another namespace, where it may get another number, and returns it there.
func Move(tb testing.TB, end *netlab.End, to *netlab.Namespace) *netlab.End {
	tb.Helper()
	moved := &netlab.End{Namespace: to, Name: end.Name}
	err := errors.Join(
		end.Namespace.Do(func() error {
			iface, err := netlink.LinkByIndex(end.Index)
			if err != nil {
				return err
			}
			return netlink.LinkSetNsFd(iface, to.FD())
		}),
		to.Do(func() error {
			iface, err := netlink.LinkByName(end.Name)
			if err == nil {
				moved.Index = iface.Attrs().Index
			}
			return err
		}),
	)
	if err != nil {
		tb.Fatal(err)
	}
	return moved
}

// Sender returns a sender on an end of a pair.
func Sender(tb testing.TB, end *netlab.End) *netlab.Sender {
	tb.Helper()
	s, err := netlab.NewSender(end)
	return closed(tb, s, err)
}

// Counter returns a counter on an end of a pair. See netlab.NewCounter.
func Counter[K comparable](tb testing.TB, end *netlab.End, classify func([]byte) (K, bool)) *netlab.Counter[K] {
	tb.Helper()
	c, err := netlab.NewCounter(end, classify)
	return closed(tb, c, err)
}

// Exchange sends the frames and returns what arrived. See netlab.Exchange.
func Exchange[K comparable](tb testing.TB, s *netlab.Sender, c *netlab.Counter[K], frames ...[]byte) netlab.Counts[K] {
	tb.Helper()
	counts, err := netlab.Exchange(tb.Context(), s, c, frames...)
	if err != nil {
		tb.Fatal(err)
	}
	return counts
}

// BPFFS mounts a new BPF file system and returns its directory.
func BPFFS(tb testing.TB) string {
	tb.Helper()
	need.Root(tb)
	fs, err := netlab.MountBPFFS(tb.TempDir())
	return closed(tb, fs, err).Dir()
}

// closed returns what was made and closes it when the test ends.
func closed[C io.Closer](tb testing.TB, made C, err error) C {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := made.Close(); err != nil {
			tb.Error(err)
		}
	})
	return made
}
