package loader

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/headgate/headgate/bpf"
)

// Upgrade puts this headgate's program in the place of the instance's, on every interface. The
// maps stay, so buckets, rules and counters do too, and each packet is decided by the old program
// or by the new one. Where one interface fails, all go back to the old one.
func (i *Instance) Upgrade() error {
	if err := checkMayLoad(); err != nil {
		return err
	}
	g, err := readGlobal(i.maps[bpf.MapGlobals])
	if err != nil {
		return err
	}
	coll, err := newCollection(Options{}, i.maps, g.Salt)
	if errors.Is(err, ebpf.ErrMapIncompatible) {
		return i.incompatible(err)
	}
	if err != nil {
		return err
	}
	defer coll.Close()

	links, err := i.links()
	if err != nil {
		return err
	}
	defer closeLinks(links)

	for n, l := range links {
		if err := i.update(l.Link, coll.Programs[l.program]); err != nil {
			err = fmt.Errorf("upgrade the program on interface %d: %w", l.index, err)
			return errors.Join(err, i.rollBack(links[:n]))
		}
	}
	if err := i.repin(coll.Programs); err != nil {
		return errors.Join(err, i.rollBack(links))
	}
	return setBuild(i.maps[bpf.MapGlobals], g.Salt)
}

// attachedLink is an open link and the name of the program that it carries.
type attachedLink struct {
	link.Link
	index   int
	program string
}

func (i *Instance) links() (links []attachedLink, err error) {
	pins, err := i.pins()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			closeLinks(links)
		}
	}()
	for _, p := range pins {
		if p.Gone {
			continue
		}
		l, err := link.LoadPinnedLink(i.linkPath(p.number), nil)
		if err != nil {
			return links, fmt.Errorf("open the link to interface %d: %w", p.Index, err)
		}
		program := bpf.Program
		if p.Frags {
			program = bpf.ProgramFrags
		}
		links = append(links, attachedLink{Link: l, index: p.Index, program: program})
	}
	return links, nil
}

func closeLinks(links []attachedLink) {
	for _, l := range links {
		l.Close()
	}
}

// rollBack puts the programs that i has open, the old ones, back on links.
func (i *Instance) rollBack(links []attachedLink) error {
	var errs []error
	for _, l := range links {
		if err := i.update(l.Link, i.programs[l.program]); err != nil {
			errs = append(errs, fmt.Errorf("go back to the old program on interface %d: %w", l.index, err))
		}
	}
	return errors.Join(errs...)
}

// repin replaces the programs' pins, each by a rename. i has the new programs open afterwards, or
// still the old ones where it returns an error.
func (i *Instance) repin(programs map[string]*ebpf.Program) (err error) {
	fresh := map[string]*ebpf.Program{}
	defer func() {
		if err != nil {
			closePrograms(fresh)
		}
	}()
	for name, p := range programs {
		clone, err := p.Clone()
		if err != nil {
			return fmt.Errorf("pin the program %s: %w", name, err)
		}
		fresh[name] = clone
		if err := replacePin(clone, filepath.Join(i.dir, name)); err != nil {
			return fmt.Errorf("pin the program %s: %w", name, err)
		}
	}
	closePrograms(i.programs)
	i.programs = fresh
	return nil
}

func closePrograms(programs map[string]*ebpf.Program) {
	for _, p := range programs {
		p.Close()
	}
}

func replacePin(p *ebpf.Program, path string) error {
	temp := filepath.Join(filepath.Dir(path), tempPrefix+filepath.Base(path))
	if err := os.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove what an interrupted upgrade left: %w", err)
	}
	if err := p.Pin(temp); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
