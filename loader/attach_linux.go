package loader

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/bpf"
)

// Attach attaches to an interface of the calling thread's network namespace. Where it is attached
// already it changes nothing, and already is true. It forgets interfaces that are gone.
func (i *Instance) Attach(name string, mode Mode) (a Attachment, already bool, err error) {
	iface, err := interfaceByName(name)
	if err != nil {
		return Attachment{}, false, err
	}
	pins, err := i.tidyPins()
	if err != nil {
		return Attachment{}, false, err
	}
	index := iface.Attrs().Index
	if p, ok := here(pins, index); ok {
		return p.Attachment, true, checkMode(p.Attachment, name, mode)
	}
	if err := checkForeign(iface); err != nil {
		return Attachment{}, false, err
	}
	if err := i.checkNumber(pins, index); err != nil {
		return Attachment{}, false, err
	}
	if err := i.attach(iface, mode); err != nil {
		return Attachment{}, false, fmt.Errorf("attach to %s: %w", name, err)
	}
	if a, err = i.attachment(index); err != nil {
		return Attachment{}, false, errors.Join(err, unpinLink(i.linkPath(index)))
	}
	return a, false, nil
}

// checkMode returns an error where an attachment is in another mode than is asked for.
func checkMode(a Attachment, name string, mode Mode) error {
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
	if i.agent {
		if err := i.mark(l); err != nil {
			return err
		}
	}
	if err := l.Pin(i.linkPath(index)); err != nil {
		return fmt.Errorf("pin the link: %w", err)
	}
	return nil
}

// Find returns the numbers of the attachments to these interfaces, given by any of their names, or
// by number where they are gone or in another network namespace; 0 where an interface is there but
// not attached to. A number that several have is an error.
func (i *Instance) Find(names []string) ([]int, error) {
	pins, err := i.pins()
	if err != nil {
		return nil, err
	}
	indices := make([]int, len(names))
	for n, name := range names {
		if indices[n], err = find(pins, name); err != nil {
			return nil, err
		}
	}
	return indices, nil
}

func find(pins []pinned, name string) (int, error) {
	iface, err := interfaceByName(name)
	if err == nil {
		p, _ := here(pins, iface.Attrs().Index)
		return p.Index, nil
	}
	index, ok := pinNumber(name)
	absent := func(p pinned) bool { return p.Name == "" && p.Index == index }
	if !ok || !slices.ContainsFunc(pins, absent) {
		return 0, err
	}
	p, err := choose(pins, index)
	if err == nil && p.Name != "" {
		err = ambiguous(index)
	}
	return index, err
}

// Detach detaches from the interface of that number: the one in the calling thread's network
// namespace, or else the only one elsewhere, or else one that is gone. When it returns, no packet
// is limited there any more. ErrNotAttached says that there is no such attachment.
func (i *Instance) Detach(index int) error {
	pins, err := i.pins()
	if err != nil {
		return err
	}
	p, err := choose(pins, index)
	if err != nil {
		return err
	}
	if err := unpinLink(i.linkPath(p.number)); err != nil {
		return fmt.Errorf("detach from interface %d: %w", index, err)
	}
	return nil
}

// DetachPinned detaches from the interface that had this number when it was attached to, whatever its
// number and network namespace are now. It is no error that there is no such attachment any more.
func (i *Instance) DetachPinned(number int) error {
	if err := unpinLink(i.linkPath(number)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("detach from what was interface %d: %w", number, err)
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
