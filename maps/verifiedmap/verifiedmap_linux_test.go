package verifiedmap_test

import (
	"errors"
	"net/netip"
	"os"
	"sync"
	"testing"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/verifiedmap"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/progtest"
)

// sources returns n sources, which are the same each time.
func sources(first, n int) []netip.Addr {
	all := make([]netip.Addr, 0, n)
	for i := range n {
		all = append(all, netip.AddrFrom4([4]byte{10, byte((first + i) >> 16), byte((first + i) >> 8), byte(first + i)}))
	}
	return all
}

func wantCount(t *testing.T, m *verifiedmap.Map, now uint64, want int) {
	t.Helper()
	if got, err := m.Count(now); got != want || err != nil {
		t.Errorf("%d sources are verified at %d, %v; want %d", got, now, err, want)
	}
}

func wantHas(t *testing.T, m *verifiedmap.Map, source string, now uint64, want bool) {
	t.Helper()
	if got, err := m.Has(netip.MustParseAddr(source), now); got != want || err != nil {
		t.Errorf("%s is verified at %d: %t, %v; want %t", source, now, got, err, want)
	}
}

func TestAddRemoveCount(t *testing.T) {
	need.Root(t)
	m := progtest.New(t, progtest.Options{}).Verified
	const tick = 1 << bpf.VerifiedTickShift
	if err := m.Add([]netip.Addr{netip.MustParseAddr("2001:db8::"), netip.MustParseAddr("::ffff:203.0.113.1")}, 5*tick); err != nil {
		t.Fatal(err)
	}
	if err := m.Add(sources(0, 1000), 7*tick); err != nil {
		t.Fatal(err)
	}
	wantCount(t, m, 5*tick-1, 1002)
	wantCount(t, m, 5*tick, 1000)
	wantHas(t, m, "203.0.113.1", 5*tick-1, true)
	wantHas(t, m, "203.0.113.1", 5*tick, false)
	wantHas(t, m, "2001:db8::1", 0, false) // the caller cuts
	if err := m.Remove(sources(200, 300)); err != nil {
		t.Fatal(err)
	}
	wantCount(t, m, 5*tick, 700)
	wantHas(t, m, "10.0.0.199", 5*tick, true)
	wantHas(t, m, "10.0.0.200", 5*tick, false)
	if got, want := m.Capacity(), 1<<19; got != want {
		t.Errorf("room for %d, want %d", got, want)
	}
}

// Half full, the table has lost about one in a hundred; how many exactly is up to the salt, which is the same here each time.
func TestHalfFull(t *testing.T) {
	need.Root(t)
	m := progtest.New(t, progtest.Options{}).Verified
	n := m.Capacity() / 2
	if err := m.Add(sources(0, n), bpf.Forever); err != nil {
		t.Fatal(err)
	}
	kept, err := m.Count(0)
	if least := n - n*15/1000; err != nil || kept < least {
		t.Errorf("%d of %d are kept, %v; want %d at least", kept, n, err, least)
	}
}

// Several write at the same time, each through a mapping of its own, and nothing is lost.
func TestParallelWriters(t *testing.T) {
	need.Root(t)
	lab := progtest.New(t, progtest.Options{})
	var group sync.WaitGroup
	const writers, each = 4, 5000
	for w := range writers {
		group.Go(func() {
			m := verifiedmap.New(lab.Map(bpf.MapVerified), lab.Map(bpf.MapGlobals))
			defer m.Close()
			for _, source := range sources(w*each, each) {
				if err := m.Add([]netip.Addr{source}, bpf.Forever); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	wantCount(t, lab.Verified, 0, writers*each)
}

// What is closed is used no more, nor is what was never open.
func TestClosed(t *testing.T) {
	need.Root(t)
	lab := progtest.New(t, progtest.Options{})
	for _, use := range []bool{true, false} {
		m := verifiedmap.New(lab.Map(bpf.MapVerified), lab.Map(bpf.MapGlobals))
		if use {
			wantCount(t, m, 0, 0)
		}
		for range 2 {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
		if _, err := m.Count(0); !errors.Is(err, os.ErrClosed) {
			t.Errorf("count: %v", err)
		}
		if err := m.Add(sources(0, 1), bpf.Forever); !errors.Is(err, os.ErrClosed) {
			t.Errorf("add: %v", err)
		}
	}
}
