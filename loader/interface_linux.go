package loader

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"

	"github.com/headgate/headgate/bpf"
)

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

// CheckFree returns nil where each of these interfaces carries this instance's program or none, so
// that Attach will not meet another one. Otherwise the error says on which there is what; it is
// ErrForeign, or ErrNoInterface where there is no such interface.
func (i *Instance) CheckFree(names []string) error {
	pins, err := i.pins()
	if err != nil {
		return err
	}
	for _, name := range names {
		iface, err := interfaceByName(name)
		if err != nil {
			return err
		}
		if _, ours := here(pins, iface.Attrs().Index); ours {
			continue
		}
		if err := checkForeign(iface); err != nil {
			return err
		}
	}
	return nil
}

// CheckUnused is CheckFree for an instance that there is not yet: nil where no interface carries a program.
func CheckUnused(names []string) error {
	for _, name := range names {
		iface, err := interfaceByName(name)
		if err != nil {
			return err
		}
		if err := checkForeign(iface); err != nil {
			return err
		}
	}
	return nil
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
	name := programName(ebpf.ProgramID(xdp.ProgId))
	what := "an unknown program"
	switch {
	case isHeadgate(name):
		return fmt.Errorf("%w to %s: %q, program id %d, of another headgate instance; name its directory with --pin, "+
			"or detach that one first", ErrForeign, iface.Attrs().Name, name, xdp.ProgId)
	case name != "":
		what = strconv.Quote(name)
	}
	return fmt.Errorf("%w to %s: %s, program id %d, in %s mode; %s",
		ErrForeign, iface.Attrs().Name, what, xdp.ProgId, modeOf(xdp.AttachMode), howToDetach(iface))
}

// programName returns the name of a program, or "" where it has none that can be read.
func programName(id ebpf.ProgramID) string {
	p, err := ebpf.NewProgramFromID(id)
	if err != nil {
		return ""
	}
	defer p.Close()
	info, err := p.Info()
	if err != nil {
		return ""
	}
	return info.Name
}

// isHeadgate says whether a program's name, which the kernel may have cut, is one of headgate's.
func isHeadgate(name string) bool {
	const longest = 15 // characters
	for _, ours := range []string{bpf.Program, bpf.ProgramFrags} {
		if name == ours || name == ours[:min(len(ours), longest)] {
			return true
		}
	}
	return false
}

// howToDetach says how to get rid of the program that is on an interface.
func howToDetach(iface netlink.Link) string {
	if id, ok := xdpLinkOf(iface); ok {
		return fmt.Sprintf("end the tool that attached it, or `bpftool link detach id %d`", id)
	}
	off := "xdp off"
	switch modeOf(iface.Attrs().Xdp.AttachMode) {
	case Native:
		off = "xdpdrv off"
	case Generic:
		off = "xdpgeneric off"
	}
	return fmt.Sprintf("detach that first, with the tool that attached it or `ip link set dev %s %s`", iface.Attrs().Name, off)
}

// xdpLinkOf returns the BPF link that keeps the program on an interface. There is none where it was
// attached by netlink.
func xdpLinkOf(iface netlink.Link) (link.ID, bool) {
	var links link.Iterator
	defer links.Close()
	for links.Next() {
		info, err := links.Link.Info()
		if err != nil {
			continue // it has just ended
		}
		// The number of an interface alone may be that of one in another network namespace.
		x := info.XDP()
		if x != nil && int(x.Ifindex) == iface.Attrs().Index && uint32(info.Program) == iface.Attrs().Xdp.ProgId {
			return links.ID, true
		}
	}
	return 0, false
}
