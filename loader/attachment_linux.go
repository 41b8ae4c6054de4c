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
	p, err := i.pinned(number)
	return p.Attachment, err
}

func (i *Instance) pinned(number int) (pinned, error) {
	p := pinned{number: number}
	l, err := link.LoadPinnedLink(i.linkPath(number), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return p, fmt.Errorf("%w to interface %d", ErrNotAttached, number)
	}
	if err != nil {
		return p, i.openError("link", strconv.Itoa(number), err)
	}
	defer l.Close()
	info, err := l.Info()
	if err != nil {
		return p, fmt.Errorf("ask about the link %d: %w", number, err)
	}
	p.link = info.ID
	p.Attachment = Attachment{Index: number, ProgramID: uint32(info.Program), Agent: i.marked(info.ID)}
	xdp := info.XDP()
	if xdp == nil || xdp.Ifindex == 0 {
		p.Gone = true
		return p, nil
	}
	p.Index = int(xdp.Ifindex)
	p.Frags = i.isFrags(info.Program)
	return p, p.identify()
}

// identify fills in what the interface itself tells, where it is in this network namespace.
func (p *pinned) identify() error {
	iface, err := netlink.LinkByIndex(p.Index)
	if _, notFound := errors.AsType[netlink.LinkNotFoundError](err); notFound {
		return nil // in another network namespace
	}
	if err != nil {
		return fmt.Errorf("look up interface %d: %w", p.Index, err)
	}
	if iface.Attrs().Xdp == nil || iface.Attrs().Xdp.ProgId != p.ProgramID {
		return nil // in another network namespace too, and this is one of the same number
	}
	p.Name = iface.Attrs().Name
	p.Up = iface.Attrs().Flags&unix.IFF_UP != 0
	p.Mode = modeOf(iface.Attrs().Xdp.AttachMode)
	return nil
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

// isFrags says whether a program is the variant for several buffers.
func (i *Instance) isFrags(id ebpf.ProgramID) bool {
	for name, p := range i.programs {
		if info, err := p.Info(); err == nil {
			if pinned, ok := info.ID(); ok && pinned == id {
				return name == bpf.ProgramFrags
			}
		}
	}
	return isNamedFrags(id)
}

// isNamedFrags goes by the name of the program, which the kernel may have cut: after an upgrade that was
// killed, a link carries a program that is not the pinned one. That takes CAP_SYS_ADMIN.
func isNamedFrags(id ebpf.ProgramID) bool {
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
