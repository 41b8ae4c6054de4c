package loader

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/bpf"
)

// Attachments returns what the instance is attached to, by interface number. It asks about
// interfaces in the network namespace of the calling thread.
func (i *Instance) Attachments() ([]Attachment, error) {
	pins, err := i.pins()
	if err != nil {
		return nil, err
	}
	var all []Attachment
	for _, p := range pins {
		all = append(all, p.Attachment)
	}
	return all, nil
}

// attachment asks about the link that is pinned under a number.
func (i *Instance) attachment(number int) (Attachment, error) {
	l, err := link.LoadPinnedLink(i.linkPath(number), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return Attachment{}, fmt.Errorf("%w to interface %d", ErrNotAttached, number)
	}
	if err != nil {
		return Attachment{}, i.openError("link", strconv.Itoa(number), err)
	}
	defer l.Close()
	info, err := l.Info()
	if err != nil {
		return Attachment{}, fmt.Errorf("ask about the link %d: %w", number, err)
	}
	a := Attachment{Index: number, ProgramID: uint32(info.Program)}
	xdp := info.XDP()
	if xdp == nil || xdp.Ifindex == 0 {
		a.Gone = true
		return a, nil
	}
	a.Index = int(xdp.Ifindex)
	a.Frags = isFrags(info.Program)
	iface, err := netlink.LinkByIndex(a.Index)
	if _, notFound := errors.AsType[netlink.LinkNotFoundError](err); notFound {
		return a, nil // in another network namespace
	}
	if err != nil {
		return a, fmt.Errorf("look up interface %d: %w", a.Index, err)
	}
	if iface.Attrs().Xdp == nil || iface.Attrs().Xdp.ProgId != a.ProgramID {
		return a, nil // in another network namespace too, and this is one of the same number
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
	if err != nil {
		return false
	}
	cut := bpf.ProgramFrags[:min(len(info.Name), len(bpf.ProgramFrags))]
	return len(cut) > len(bpf.Program) && info.Name == cut
}
