package loader

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

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
	if err := i.forgetGone(); err != nil {
		return Attachment{}, false, err
	}
	index := iface.Attrs().Index
	a, err = i.attachment(index)
	if err == nil {
		return a, true, i.checkAttached(a, name, mode)
	}
	if !errors.Is(err, ErrNotAttached) {
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

// forgetGone removes the links of interfaces that are gone, from which the kernel has detached. It
// may have given their numbers to others.
func (i *Instance) forgetGone() error {
	all, err := i.Attachments()
	if err != nil {
		return err
	}
	for _, a := range all {
		if !a.Gone {
			continue
		}
		if err := i.Detach(a.Index); err != nil {
			return err
		}
	}
	return nil
}

// checkAttached says what speaks against leaving an attachment as it is.
func (i *Instance) checkAttached(a Attachment, name string, mode Mode) error {
	if a.Name == "" {
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

// Find returns the numbers of the attachments to these interfaces, given by any of their names, or
// by number where they are gone or in another network namespace; 0 where an interface is there but
// not attached to.
func (i *Instance) Find(names []string) ([]int, error) {
	all, err := i.Attachments()
	if err != nil {
		return nil, err
	}
	indices := make([]int, len(names))
	for n, name := range names {
		iface, err := interfaceByName(name)
		at := slices.IndexFunc(all, func(a Attachment) bool {
			if err != nil {
				return a.Name == "" && strconv.Itoa(a.Index) == name
			}
			return a.Name != "" && a.Index == iface.Attrs().Index
		})
		if at >= 0 {
			indices[n] = all[at].Index
		} else if err != nil {
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
