//go:build linux

package netlab_test

import (
	"errors"
	"net"
	"os"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/leak"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/netlab/netlabtest"
)

// here returns what identifies the network namespace of this thread.
func here(t *testing.T) string {
	t.Helper()
	id, err := os.Readlink("/proc/thread-self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestDo(t *testing.T) {
	ns, other := netlabtest.Namespace(t), netlabtest.Namespace(t)
	runtime.LockOSThread() // so that home stays this thread's namespace
	defer runtime.UnlockOSThread()
	home, boom := here(t), errors.New("boom")
	tests := []struct {
		name string
		fn   func() error
		want error
	}{
		{"success", func() error { return nil }, nil},
		{"error", func() error { return boom }, boom},
		{"nested", func() error {
			outer := here(t)
			err := other.Do(func() error {
				if inner := here(t); inner == outer || inner == home {
					t.Errorf("nested: in %s, want a namespace of its own", inner)
				}
				return boom
			})
			if got := here(t); got != outer {
				t.Errorf("after nested Do: in %s, want %s", got, outer)
			}
			return err
		}, boom},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			if err := ns.Do(tt.fn); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if got := here(t); got != home {
				t.Errorf("in %s, want %s", got, home)
			}
		})
	}
}

func TestDoPanic(t *testing.T) {
	ns := netlabtest.Namespace(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home := here(t)
	defer func() {
		if r := recover(); r != "boom" {
			t.Errorf("recovered %v, want boom", r)
		}
		if got := here(t); got != home {
			t.Errorf("in %s, want %s", got, home)
		}
	}()
	_ = ns.Do(func() error { panic("boom") })
}

// TestNewIsEmpty checks that a namespace has its own interfaces, and a loopback
// interface that works.
func TestNewIsEmpty(t *testing.T) {
	ns := netlabtest.Namespace(t)
	err := ns.Do(func() error {
		links, err := netlink.LinkList()
		if err != nil {
			return err
		}
		if len(links) != 1 || links[0].Attrs().Name != "lo" {
			t.Errorf("interfaces %v, want lo only", links)
		}
		for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
			l, err := net.Listen("tcp", address)
			if err != nil {
				return err
			}
			defer l.Close()
			conn, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				return err
			}
			conn.Close()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCloseLeavesNothing waits for the kernel to say that the veth at the other
// end is gone, as it removes a namespace in the background.
func TestCloseLeavesNothing(t *testing.T) {
	watched := netlabtest.Namespace(t)
	leak.Check(t)
	for range 10 {
		makeAndClose(t, watched)
	}
}

func makeAndClose(t *testing.T, watched *netlab.Namespace) {
	t.Helper()
	updates, done := make(chan netlink.LinkUpdate, 100), make(chan struct{})
	if err := watched.Do(func() error { return netlink.LinkSubscribe(updates, done) }); err != nil {
		t.Fatal(err)
	}
	ns, err := netlab.New()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := netlab.NewPair(ns, watched, netlab.PairOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := netlab.NewSender(pair.Near)
	if err != nil {
		t.Fatal(err)
	}
	c, err := netlab.NewCounter(pair.Near, func([]byte) (int, bool) { return 0, true })
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), c.Close(), ns.Close()); err != nil {
		t.Fatal(err)
	}
	awaitRemoval(t, updates, pair.Far.Index)
	close(done)
	for range updates { // closed when the subscription's socket is
	}
}

func awaitRemoval(t *testing.T, updates <-chan netlink.LinkUpdate, index int) {
	t.Helper()
	for update := range updates {
		if update.Header.Type == unix.RTM_DELLINK && int(update.Index) == index {
			return
		}
	}
	t.Fatal("subscription ended before the interface was removed")
}

func TestPairClose(t *testing.T) {
	ns := netlabtest.Namespace(t)
	pair, err := netlab.NewPair(ns, ns, netlab.PairOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := pair.Close(); err != nil {
		t.Fatal(err)
	}
	err = ns.Do(func() error {
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

func TestBPFFS(t *testing.T) {
	var dir string
	t.Run("mounted", func(t *testing.T) {
		dir = netlabtest.BPFFS(t)
		if got := fsType(t, dir); got != unix.BPF_FS_MAGIC {
			t.Errorf("file system type %#x, want %#x", got, unix.BPF_FS_MAGIC)
		}
		if err := os.Mkdir(dir+"/sub", 0o700); err != nil {
			t.Error(err)
		}
	})
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the test: %v, want that the directory could be removed", err)
	}
	if _, err := netlab.MountBPFFS(dir); err == nil {
		t.Error("mounting over a missing directory did not fail")
	}
}

// TestBPFFSInUse holds a directory open, which keeps a plain unmount from
// working.
func TestBPFFSInUse(t *testing.T) {
	need.Root(t)
	fs, err := netlab.MountBPFFS(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(fs.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := fs.Close(); err != nil {
		t.Error(err)
	}
	if fsType(t, fs.Dir()) == unix.BPF_FS_MAGIC {
		t.Error("still mounted")
	}
}

func fsType(t *testing.T, dir string) int64 {
	t.Helper()
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		t.Fatal(err)
	}
	return stat.Type
}
