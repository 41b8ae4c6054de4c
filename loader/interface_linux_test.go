package loader

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"

	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/netlab/netlabtest"
)

// in runs in the network namespace of an interface.
func in(t *testing.T, end *netlab.End, do func() error) {
	t.Helper()
	if err := end.Namespace.Do(do); err != nil {
		t.Error(err)
	}
}

// mortal returns an interface that a test may remove.
func mortal(t *testing.T) *netlab.End {
	t.Helper()
	pair, err := netlab.NewPair(netlabtest.Namespace(t), netlabtest.Namespace(t), netlab.PairOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pair.Far
}

func remove(t *testing.T, end *netlab.End) {
	t.Helper()
	in(t, end, func() error {
		iface, err := netlink.LinkByIndex(end.Index)
		if err != nil {
			return err
		}
		return netlink.LinkDel(iface)
	})
}

// TestAlternativeNames has an interface found and attached to by any of its names. The short ones
// and those that are too long for a first name reach the kernel in different ways.
func TestAlternativeNames(t *testing.T) {
	far := netlabtest.Pair(t, netlab.PairOptions{}).Far
	i := create(t, small(t))
	alternatives := []string{"uplink", "an-uplink-with-a-long-name"}
	in(t, far, func() error {
		iface, err := netlink.LinkByIndex(far.Index)
		if err != nil {
			return err
		}
		for _, name := range alternatives {
			if err := netlink.LinkAddAltName(iface, name); err != nil {
				return err
			}
		}
		first, already, err := i.Attach(alternatives[0], Auto)
		if err != nil || already || first.Name != far.Name {
			t.Errorf("attached to %+v, already %t, %v", first, already, err)
		}
		for _, name := range append(alternatives, far.Name) {
			again, already, err := i.Attach(name, Auto)
			if err != nil || !already || again != first {
				t.Errorf("%s: attached to %+v, already %t, %v", name, again, already, err)
			}
			if got, err := i.Find([]string{name}); err != nil || !slices.Equal(got, []int{far.Index}) {
				t.Errorf("%s: found %v, %v; want %d", name, got, err, far.Index)
			}
		}
		return i.CheckFree(alternatives)
	})
}

// TestFindByNumber finds what has no name here: an interface that is gone, and one of another
// namespace.
func TestFindByNumber(t *testing.T) {
	one, two := mortal(t), netlabtest.Pair(t, netlab.PairOptions{}).Far
	i := create(t, small(t))
	mustAttach(t, i, one, Auto)
	number := strconv.Itoa(one.Index)
	find := func(name string, want int) error {
		got, err := i.Find([]string{name})
		if err == nil && !slices.Equal(got, []int{want}) {
			t.Errorf("%s: found %v, want %d", name, got, want)
		}
		return err
	}
	in(t, one, func() error {
		if err := find(number, 0); !errors.Is(err, ErrNoInterface) {
			t.Errorf("by number: error %v, want %v", err, ErrNoInterface)
		}
		return find(one.Name, one.Index)
	})
	in(t, two, func() error { // the same name and number, but not the same interface
		return errors.Join(find(two.Name, 0), find(number, one.Index))
	})
	remove(t, one)
	in(t, one, func() error { return find(number, one.Index) })
}

// TestCheckFree tells our own program from another one, and from none.
func TestCheckFree(t *testing.T) {
	pair := netlabtest.Pair(t, netlab.PairOptions{})
	far, near := pair.Far, pair.Near
	i := create(t, small(t))
	check := func(end *netlab.End, want error, names ...string) {
		t.Helper()
		in(t, end, func() error {
			if err := i.CheckFree(names); !errors.Is(err, want) {
				t.Errorf("%v: error %v, want %v", names, err, want)
			}
			return nil
		})
	}
	check(far, nil, far.Name, "lo")
	mustAttach(t, i, far, Auto)
	check(far, nil, far.Name)
	check(far, ErrNoInterface, far.Name, "nosuch")

	attachForeign(t, near)
	check(near, nil, "lo")
	check(near, ErrForeign, "lo", near.Name)
	in(t, near, func() error { return i.CheckFree(nil) })
	if _, _, err := attachTo(t, create(t, small(t)), near, Auto); !errors.Is(err, ErrForeign) {
		t.Errorf("attach: %v, want %v", err, ErrForeign)
	}
}

// attachForeign attaches a program that lets everything pass.
func attachForeign(t *testing.T, end *netlab.End) {
	t.Helper()
	pass, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "foreign", Type: ebpf.XDP, License: "MIT",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 2), asm.Return()},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer pass.Close()
	in(t, end, func() error {
		l, err := link.AttachXDP(link.XDPOptions{Program: pass, Interface: end.Index})
		if err == nil {
			t.Cleanup(func() { l.Close() })
		}
		return err
	})
}

// TestAttachForgetsGone has an attach to one interface clear away another that is gone, and leave
// those that are there.
func TestAttachForgetsGone(t *testing.T) {
	i, _, ends := attachTwo(t)
	remove(t, ends[1])
	all := func() (indices []int, gone int) {
		in(t, ends[0], func() error {
			attached, err := i.Attachments()
			for _, a := range attached {
				indices = append(indices, a.Index)
				if a.Gone {
					gone++
				}
			}
			return err
		})
		return indices, gone
	}
	if indices, gone := all(); len(indices) != 2 || gone != 1 {
		t.Errorf("attached to %v, %d gone; want 2, 1 gone", indices, gone)
	}
	before := programOn(t, ends[0])
	if _, already, err := attachTo(t, i, ends[0], Auto); err != nil || !already {
		t.Errorf("attach again: already %t, %v", already, err)
	}
	if indices, _ := all(); !slices.Equal(indices, []int{ends[0].Index}) {
		t.Errorf("attached to %v, want %d only", indices, ends[0].Index)
	}
	if after := programOn(t, ends[0]); after != before || after == 0 {
		t.Errorf("program %d on %s, it was %d", after, ends[0].Name, before)
	}
}

// TestInterfaceNumberAgain makes an interface with the number of one that is gone.
func TestInterfaceNumberAgain(t *testing.T) {
	gone := mortal(t)
	i := create(t, small(t))
	mustAttach(t, i, gone, Auto)
	remove(t, gone)
	again := &netlab.End{Namespace: gone.Namespace, Name: "again0", Index: gone.Index}
	in(t, again, func() error {
		attrs := netlink.LinkAttrs{Name: again.Name, Index: again.Index}
		return netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "peer0"})
	})
	if got := mustAttach(t, i, again, Auto); got.Name != again.Name || got.Gone || got.ProgramID != programOn(t, again) {
		t.Errorf("attached to %+v", got)
	}
}
