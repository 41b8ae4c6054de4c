package e2e_test

import (
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/netlab/netlabtest"
	"github.com/headgate/headgate/test/packet"
)

const (
	// pollInterval and pollLimit are for what happens in another process or in the kernel.
	pollInterval = 10 * time.Millisecond
	pollLimit    = 20 * time.Second

	flooder, modest, third = "203.0.113.7", "198.51.100.20", "192.0.2.77"
	target                 = "192.0.2.1"

	etherHeader = 14

	// never is a limit of which nothing refills during a test.
	never = "6pph"
)

// lab is a host that headgate limits, in a namespace of its own, and another one that sends to it.
type lab struct {
	tb      testing.TB
	pair    *netlab.Pair
	sender  *netlab.Sender
	counter *netlab.Counter[netip.Addr]
	pin     string // of the instance; on a file system of the test's own
}

type counts = netlab.Counts[netip.Addr]

func newLab(tb testing.TB) *lab { return newLabWith(tb, netlab.PairOptions{}) }

func newLabWith(tb testing.TB, o netlab.PairOptions) *lab {
	tb.Helper()
	need.Root(tb)
	return labOn(tb, netlabtest.Pair(tb, o), filepath.Join(netlabtest.BPFFS(tb), "hg"))
}

// labOn is a lab on a pair that exists.
func labOn(tb testing.TB, pair *netlab.Pair, pin string) *lab {
	tb.Helper()
	return labCounting(tb, pair, pin, packet.Source)
}

// labCounting is a lab that counts some packets only.
func labCounting(tb testing.TB, pair *netlab.Pair, pin string, classify func([]byte) (netip.Addr, bool)) *lab {
	tb.Helper()
	return &lab{
		tb:      tb,
		pair:    pair,
		sender:  netlabtest.Sender(tb, pair.Near),
		counter: netlabtest.Counter(tb, pair.Far, classify),
		pin:     pin,
	}
}

// beside is a lab on another pair to the same host, with the instance at pin.
func (l *lab) beside(o netlab.PairOptions, pin string) *lab {
	l.tb.Helper()
	pair, err := netlab.NewPair(netlabtest.Namespace(l.tb), l.pair.Far.Namespace, o)
	if err != nil {
		l.tb.Fatal(err)
	}
	return labOn(l.tb, pair, pin)
}

// dev is the interface that headgate attaches to.
func (l *lab) dev() string { return l.pair.Far.Name }

func udp(source string) []byte { return packet.UDPFrame(source, target, 53, 18) }

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

// exchange sends frames and returns what arrived since the last exchange.
func (l *lab) exchange(frames ...[]byte) counts {
	l.tb.Helper()
	return netlabtest.Exchange(l.tb, l.sender, l.counter, frames...)
}

// passed sends n frames and returns how many packets of their source arrived.
func (l *lab) passed(frame []byte, n int) int {
	l.tb.Helper()
	l.exchange() // forget what was sent before
	if err := l.sender.SendN(frame, n); err != nil {
		l.tb.Fatal(err)
	}
	return int(l.exchange().Total().Packets)
}

// wantPassed checks how many of n frames pass.
func (l *lab) wantPassed(frame []byte, n, want int) {
	l.tb.Helper()
	if got := l.passed(frame, n); got != want {
		l.tb.Errorf("%d of %d packets passed, want %d", got, n, want)
	}
}

// programID asks the kernel, not headgate, for the program on an interface; 0 for none.
func (l *lab) programID() (id uint32) {
	l.tb.Helper()
	err := l.pair.Far.Namespace.Do(func() error {
		iface, err := netlink.LinkByName(l.pair.Far.Name)
		if err == nil && iface.Attrs().Xdp != nil {
			id = iface.Attrs().Xdp.ProgId
		}
		return err
	})
	if err != nil {
		l.tb.Fatal(err)
	}
	return id
}

// wantNoInstance checks that the kernel and the file system hold nothing of headgate.
func (l *lab) wantNoInstance() {
	l.tb.Helper()
	if id := l.programID(); id != 0 {
		l.tb.Errorf("program %d is on %s, want none", id, l.dev())
	}
	l.wantNoPins()
}

// await polls until done returns true.
func await(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(pollLimit); !done(); time.Sleep(pollInterval) {
		if time.Now().After(deadline) {
			tb.Fatalf("%s did not happen within %s", what, pollLimit)
		}
	}
}
