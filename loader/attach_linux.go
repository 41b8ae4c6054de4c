package loader

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/bpf"
)

// Attach attaches to an interface of the calling thread's network namespace. Where it is attached
// already it changes nothing, and already is true.
func (i *Instance) Attach(name string, mode Mode) (a Attachment, already bool, err error) {
	iface, err := interfaceByName(name)
	if err != nil {
		return Attachment{}, false, err
	}
	index := iface.Attrs().Index
	a, err = i.attachment(index)
	switch {
	case err == nil && a.Gone:
		// The kernel has reused the number of an interface that is gone.
		if err := i.Detach(index); err != nil {
			return Attachment{}, false, err
		}
	case err == nil:
		return a, true, i.checkAttached(a, name, mode)
	case !errors.Is(err, ErrNotAttached):
		return Attachment{}, false, err
	}
	if err := checkForeign(iface); err != nil {
		return Attachment{}, false, err
	}
	if err := i.attach(iface, mode); err != nil {
		return Attachment{}, false, fmt.Errorf("attach to %s: %w", name, err)
	}
	a, err = i.attachment(index)
	return a, false, err
}

// checkAttached says what speaks against leaving an attachment as it is.
func (i *Instance) checkAttached(a Attachment, name string, mode Mode) error {
	if a.Name != name {
		return fmt.Errorf("the instance at %s is attached to interface %d of another network "+
			"namespace; use a directory of its own for each namespace, with --pin",
			filepath.Dir(i.dir), a.Index)
	}
	if mode != Auto && mode != a.Mode {
		return fmt.Errorf("%s is attached in %s mode; detach it first to attach in %s mode",
			name, a.Mode, mode)
	}
	return nil
}

// try is one way to attach.
type try struct {
	program string
	flags   link.XDPAttachFlags
}

// tries returns the ways for a mode in the order of preference. The variant for several buffers
// comes second: where the plain one can be attached, no frame has more than one.
func tries(mode Mode) []try {
	native := []try{{bpf.Program, link.XDPDriverMode}, {bpf.ProgramFrags, link.XDPDriverMode}}
	generic := []try{{bpf.Program, link.XDPGenericMode}}
	switch mode {
	case Native:
		return native
	case Generic:
		return generic
	default:
		return append(native, generic...)
	}
}

func (i *Instance) attach(iface netlink.Link, mode Mode) error {
	var errs []error
	for _, t := range tries(mode) {
		program := i.programs[t.program]
		if program == nil {
			continue
		}
		err := i.attachProgram(iface.Attrs().Index, program, t.flags)
		if err == nil {
			return nil
		}
		if !tryNext(err) {
			return err
		}
		errs = append(errs, err)
	}
	hint := "the driver cannot do it; --mode generic works with any"
	if mode != Native {
		hint = "the kernel refuses XDP on this interface"
	}
	return fmt.Errorf("%w in %s mode: %s (%w)", ErrUnsupported, mode, hint, errs[0])
}

// tryNext tells a driver that cannot do something from what no other way would mend.
func tryNext(err error) bool {
	for _, cannot := range []error{unix.EOPNOTSUPP, unix.EINVAL, unix.ERANGE, unix.ENOSPC} {
		if errors.Is(err, cannot) {
			return true
		}
	}
	return errors.Is(err, ebpf.ErrNotSupported)
}

// attachProgram attaches and pins; what cannot be pinned is detached again.
func (i *Instance) attachProgram(index int, program *ebpf.Program, flags link.XDPAttachFlags) error {
	l, err := link.AttachXDP(link.XDPOptions{Program: program, Interface: index, Flags: flags})
	if err != nil {
		return err
	}
	// Closing detaches only what is not pinned.
	defer l.Close()
	if err := l.Pin(i.linkPath(index)); err != nil {
		return fmt.Errorf("pin the link: %w", err)
	}
	return nil
}

// Find returns the numbers of the attachments to these interfaces, given by name, or by number
// where they are gone; 0 where an interface is there but not attached to.
func (i *Instance) Find(names []string) ([]int, error) {
	all, err := i.Attachments()
	if err != nil {
		return nil, err
	}
	indices := make([]int, len(names))
	for n, name := range names {
		at := slices.IndexFunc(all, func(a Attachment) bool {
			return a.Name == name || a.Name == "" && strconv.Itoa(a.Index) == name
		})
		if at >= 0 {
			indices[n] = all[at].Index
		} else if _, err := interfaceByName(name); err != nil {
			return nil, err
		}
	}
	return indices, nil
}

// Detach detaches from the interface of that number. When it returns, no packet is limited there
// any more.
func (i *Instance) Detach(index int) error {
	if err := unpinLink(i.linkPath(index)); err != nil {
		return fmt.Errorf("detach from interface %d: %w", index, err)
	}
	return nil
}

// unpinLink detaches at once: without a pin the kernel detaches too, but some time later, and an
// attach until then would meet what looks like another program.
func unpinLink(path string) error {
	l, err := link.LoadPinnedLink(path, nil)
	if err != nil {
		return err
	}
	defer l.Close()
	return errors.Join(l.Detach(), l.Unpin())
}

// RemoveAll detaches everything and removes the instance, which stays open to read.
func (i *Instance) RemoveAll() error { return removeDir(filepath.Dir(i.dir)) }

// CheckInterfaces returns the numbers of interfaces, or an error that says which one there is not.
func CheckInterfaces(names []string) ([]int, error) {
	var indices []int
	for _, name := range names {
		iface, err := interfaceByName(name)
		if err != nil {
			return nil, err
		}
		indices = append(indices, iface.Attrs().Index)
	}
	return indices, nil
}

// Attachments returns what the instance is attached to, by interface number. It asks about
// interfaces in the network namespace of the calling thread.
func (i *Instance) Attachments() ([]Attachment, error) {
	entries, err := os.ReadDir(filepath.Join(i.dir, linksDir))
	if err != nil {
		return nil, fmt.Errorf("list attachments: %w", privilege(err))
	}
	var all []Attachment
	for _, e := range entries {
		index, err := strconv.Atoi(e.Name())
		if err != nil {
			continue // not ours
		}
		a, err := i.attachment(index)
		if errors.Is(err, ErrNotAttached) {
			continue // detached just now
		}
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b Attachment) int { return cmp.Compare(a.Index, b.Index) })
	return all, nil
}

func (i *Instance) attachment(index int) (Attachment, error) {
	l, err := link.LoadPinnedLink(i.linkPath(index), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return Attachment{}, fmt.Errorf("%w to interface %d", ErrNotAttached, index)
	}
	if err != nil {
		return Attachment{}, fmt.Errorf("open the link to interface %d: %w", index, privilege(err))
	}
	defer l.Close()
	info, err := l.Info()
	if err != nil {
		return Attachment{}, fmt.Errorf("ask about the link to interface %d: %w", index, err)
	}
	a := Attachment{Index: index, ProgramID: uint32(info.Program)}
	if xdp := info.XDP(); xdp == nil || xdp.Ifindex == 0 {
		a.Gone = true
		return a, nil
	}
	a.Frags = isFrags(info.Program)
	iface, err := netlink.LinkByIndex(index)
	if err != nil || iface.Attrs().Xdp == nil || iface.Attrs().Xdp.ProgId != a.ProgramID {
		return a, nil // in another network namespace
	}
	a.Name = iface.Attrs().Name
	a.Up = iface.Attrs().Flags&unix.IFF_UP != 0
	a.Mode = modeOf(iface.Attrs().Xdp.AttachMode)
	return a, nil
}

// modeOf translates IFLA_XDP_ATTACHED.
func modeOf(attached uint32) Mode {
	const driver, skb = 1, 2
	switch attached {
	case driver:
		return Native
	case skb:
		return Generic
	default:
		return Auto
	}
}

// isFrags goes by the name of the program, which the kernel may have cut: after an upgrade that was
// killed, a link carries a program that is not the pinned one.
func isFrags(id ebpf.ProgramID) bool {
	p, err := ebpf.NewProgramFromID(id)
	if err != nil {
		return false
	}
	defer p.Close()
	info, err := p.Info()
	return err == nil && len(info.Name) > len(bpf.Program) && strings.HasPrefix(bpf.ProgramFrags, info.Name)
}

func interfaceByName(name string) (netlink.Link, error) {
	iface, err := netlink.LinkByName(name)
	var notFound netlink.LinkNotFoundError
	if errors.As(err, &notFound) {
		return nil, fmt.Errorf("%w: %q; there are %s", ErrNoInterface, name, interfaceNames())
	}
	if err != nil {
		return nil, fmt.Errorf("look up interface %q: %w", name, err)
	}
	return iface, nil
}

func interfaceNames() string {
	links, err := netlink.LinkList()
	if err != nil {
		return "no others that can be listed"
	}
	var names []string
	for _, l := range links {
		names = append(names, l.Attrs().Name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// checkForeign returns an error where a program that is not ours is on the interface.
func checkForeign(iface netlink.Link) error {
	xdp := iface.Attrs().Xdp
	if xdp == nil || !xdp.Attached {
		return nil
	}
	name := "an unknown program"
	if p, err := ebpf.NewProgramFromID(ebpf.ProgramID(xdp.ProgId)); err == nil {
		defer p.Close()
		if info, err := p.Info(); err == nil && info.Name != "" {
			name = strconv.Quote(info.Name)
		}
	}
	return fmt.Errorf("%w to %s: %s, program id %d, in %s mode; detach that first "+
		"(`ip link set dev %s xdp off`, or the tool that attached it)",
		ErrForeign, iface.Attrs().Name, name, xdp.ProgId, modeOf(xdp.AttachMode), iface.Attrs().Name)
}
