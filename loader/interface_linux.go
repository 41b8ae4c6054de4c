package loader

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
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
	for _, name := range names {
		iface, err := interfaceByName(name)
		if err != nil {
			return err
		}
		a, err := i.attachment(iface.Attrs().Index)
		if err != nil && !errors.Is(err, ErrNotAttached) {
			return err
		}
		if err == nil && a.Name != "" {
			continue // ours
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
