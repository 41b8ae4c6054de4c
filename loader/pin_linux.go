package loader

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// pinned is an attachment and the number under which its link is pinned: the one that the interface
// had then. When it moves to another network namespace where that is taken, it gets a new one, and
// the link goes with it.
type pinned struct {
	Attachment
	number int
	link   link.ID

	// twin says that links to several interfaces of this number carry the same program. The
	// kernel does not say which of them is to the interface in this network namespace.
	twin bool
}

// pins returns all attachments, by interface number. It asks about interfaces in the network
// namespace of the calling thread.
func (i *Instance) pins() ([]pinned, error) {
	entries, err := os.ReadDir(filepath.Join(i.dir, linksDir))
	if err != nil {
		return nil, i.openError("directory", linksDir, err)
	}
	var all []pinned
	for _, e := range entries {
		number, ok := pinNumber(e.Name())
		if !ok {
			continue // not ours
		}
		p, err := i.pinned(number)
		if errors.Is(err, ErrNotAttached) {
			continue // detached just now
		}
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b pinned) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.number, b.number))
	})
	markTwins(all)
	return all, nil
}

// pinNumber parses a name that headgate gives to a pin: no other way to write the number is one, as
// its path would not be found again.
func pinNumber(name string) (number int, ok bool) {
	n, err := strconv.ParseInt(name, 10, 32)
	return int(n), err == nil && n > 0 && strconv.FormatInt(n, 10) == name
}

// markTwins leaves an interface's name to one of several attachments that could be to it, so that
// each interface is there once. The attachments are sorted.
func markTwins(all []pinned) {
	named := -1
	for n := range all {
		p := &all[n]
		switch {
		case p.Name == "":
		case named >= 0 && all[named].Index == p.Index:
			all[named].twin = true
			p.Attachment = Attachment{Index: p.Index, Frags: p.Frags, ProgramID: p.ProgramID, Agent: p.Agent}
			p.twin = true
		default:
			named = n
		}
	}
}

// here returns the attachment to the interface of that number in this network namespace.
func here(pins []pinned, index int) (pinned, bool) {
	n := slices.IndexFunc(pins, func(p pinned) bool { return p.Name != "" && p.Index == index })
	if n < 0 {
		return pinned{}, false
	}
	return pins[n], true
}

// choose returns the attachment that a number means: the one in this network namespace, or else the
// only one elsewhere, or else one that is gone. It never guesses.
func choose(pins []pinned, index int) (pinned, error) {
	if p, ok := here(pins, index); ok && !p.twin {
		return p, nil
	}
	var live, gone []pinned
	for _, p := range pins {
		switch {
		case p.Index != index:
		case p.Gone:
			gone = append(gone, p)
		default:
			live = append(live, p)
		}
	}
	switch {
	case len(live) > 1:
		return pinned{}, ambiguous(index)
	case len(live) == 1:
		return live[0], nil
	case len(gone) > 0:
		return gone[0], nil
	default:
		return pinned{}, fmt.Errorf("%w to interface %d", ErrNotAttached, index)
	}
}

func ambiguous(index int) error {
	return fmt.Errorf("the instance has several attachments to interfaces with the number %d, of "+
		"different network namespaces; delete or move one of the interfaces, or use `headgate detach --all`", index)
}

// tidyPins removes the links of interfaces that are gone, from which the kernel has detached and
// whose numbers it may have given to others, and pins the links of those that have new numbers under
// these. The lock is held. It returns what there is then.
func (i *Instance) tidyPins() ([]pinned, error) {
	all, err := i.pins()
	if err != nil {
		return nil, err
	}
	var live []pinned
	for _, p := range all {
		if !p.Gone {
			live = append(live, p)
		} else if err := unpinLink(i.linkPath(p.number)); err != nil {
			return nil, fmt.Errorf("forget interface %d, which is gone: %w", p.Index, err)
		}
	}
	return live, errors.Join(i.tidyMarks(live), i.renumber(live))
}

// renumber goes over the pins until none moves, as each that moves makes room for another. Those
// that are in each other's way stay: everything works under an old number too.
func (i *Instance) renumber(pins []pinned) error {
	for moved := true; moved; {
		moved = false
		for n := range pins {
			p := &pins[n]
			if p.number == p.Index {
				continue
			}
			// Without RENAME_NOREPLACE this would detach from what is pinned there.
			err := unix.Renameat2(unix.AT_FDCWD, i.linkPath(p.number), unix.AT_FDCWD, i.linkPath(p.Index), unix.RENAME_NOREPLACE)
			if errors.Is(err, unix.EEXIST) {
				continue
			}
			if err != nil {
				return fmt.Errorf("pin the link to interface %d under its new number: %w", p.Index, err)
			}
			p.number, moved = p.Index, true
		}
	}
	return nil
}

// checkNumber returns an error where an attachment elsewhere has the number of an interface that is
// to be attached to, or the pin that this would get.
func (i *Instance) checkNumber(pins []pinned, index int) error {
	for _, p := range pins {
		if p.Index == index {
			return fmt.Errorf("the instance at %s is attached to interface %d of another network "+
				"namespace; use a directory of its own for each namespace, with --pin",
				filepath.Dir(i.dir), index)
		}
	}
	for _, p := range pins {
		if p.number == index {
			return fmt.Errorf("the pin %s is still that of interface %d, which had the number %d before; "+
				"detach from that first, or use another directory with --pin", i.linkPath(index), p.Index, index)
		}
	}
	return nil
}
