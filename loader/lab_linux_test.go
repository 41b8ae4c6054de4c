package loader

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"

	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/netlab/netlabtest"
)

// small are the options of an instance that is quick to make, on a file system of the test's own.
func small(t *testing.T) Options {
	t.Helper()
	return Options{Dir: filepath.Join(netlabtest.BPFFS(t), "hg"), MaxSources: minSources, MaxRules: 100}
}

// create makes an instance, or opens it.
func create(t *testing.T, o Options) *Instance {
	t.Helper()
	i, _, err := Create(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.Close() })
	return i
}

// attachTo attaches to an interface of a namespace that the test made.
func attachTo(t *testing.T, i *Instance, end *netlab.End, mode Mode) (Attachment, bool, error) {
	t.Helper()
	var a Attachment
	var already bool
	err := end.Namespace.Do(func() (err error) {
		a, already, err = i.Attach(end.Name, mode)
		return err
	})
	return a, already, err
}

func mustAttach(t *testing.T, i *Instance, end *netlab.End, mode Mode) Attachment {
	t.Helper()
	a, already, err := attachTo(t, i, end, mode)
	if err != nil || already {
		t.Fatalf("attach to %s: already %t, %v", end.Name, already, err)
	}
	return a
}

// programOn asks the kernel for the program on an interface.
func programOn(t *testing.T, end *netlab.End) (id uint32) {
	t.Helper()
	err := end.Namespace.Do(func() error {
		iface, err := netlink.LinkByIndex(end.Index)
		if err == nil && iface.Attrs().Xdp != nil {
			id = iface.Attrs().Xdp.ProgId
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// programID returns the number of a program, 0 where the kernel does not say.
func programID(p *ebpf.Program) uint32 {
	info, err := p.Info()
	if err != nil {
		return 0
	}
	id, _ := info.ID()
	return uint32(id)
}

// awaitFree waits until a lock is not held any more.
func awaitFree(t *testing.T, o Options) *Instance {
	t.Helper()
	o.LockWait = 20 * time.Second
	return create(t, o)
}
