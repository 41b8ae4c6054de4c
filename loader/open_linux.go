package loader

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/bucketmap"
	"github.com/headgate/headgate/maps/verifiedmap"
)

// open opens all pins. An error leaves nothing open.
func open(o Options) (i *Instance, err error) {
	if err := checkVersion(o.Dir); err != nil {
		return nil, err
	}
	spec, err := bpf.Load()
	if err != nil {
		return nil, fmt.Errorf("parse the program: %w", err)
	}
	i = &Instance{
		dir:      filepath.Join(o.Dir, layoutVersion),
		agent:    o.Agent,
		inner:    spec.Maps[bpf.MapConfigs].InnerMap,
		maps:     map[string]*ebpf.Map{},
		programs: map[string]*ebpf.Program{},
		update:   link.Link.Update,
	}
	if err := i.openPins(spec); err != nil {
		i.Close()
		return nil, err
	}
	return i, nil
}

// openPins looks at the directory first: should it be replaced meanwhile, Replaced says so.
func (i *Instance) openPins(spec *ebpf.CollectionSpec) (err error) {
	if i.opened, err = os.Stat(i.dir); err != nil {
		return i.openError("directory", layoutVersion, err)
	}
	for _, name := range bpf.PinnedMaps() {
		if err := i.openMap(name, spec.Maps[name]); err != nil {
			return err
		}
	}
	i.verified = verifiedmap.New(i.maps[bpf.MapVerified], i.maps[bpf.MapGlobals])
	for _, name := range []string{bpf.Program, bpf.ProgramFrags} {
		p, err := ebpf.LoadPinnedProgram(filepath.Join(i.dir, name), nil)
		if errors.Is(err, fs.ErrNotExist) && name == bpf.ProgramFrags {
			continue // a kernel without it
		}
		if err != nil {
			return i.openError("program", name, err)
		}
		i.programs[name] = p
	}
	return nil
}

func (i *Instance) openMap(name string, spec *ebpf.MapSpec) error {
	m, err := ebpf.LoadPinnedMap(filepath.Join(i.dir, name), nil)
	if err != nil {
		return i.openError("map", name, err)
	}
	i.maps[name] = m
	spec.MaxEntries = m.MaxEntries()
	if name == bpf.MapBuckets {
		bucketmap.MatchKeys(spec, m)
	}
	if err := spec.Compatible(m); err != nil {
		return i.incompatible(err)
	}
	return nil
}

// openError says what it means that something of the instance cannot be opened. Where it is not
// there, a detach has just removed all, or this instance never had it. What is no error of the
// kernel's is about what is there instead.
func (i *Instance) openError(kind, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		if err := checkVersion(filepath.Dir(i.dir)); err != nil {
			return err
		}
		return i.incompatible(fmt.Errorf("the %s %s is missing", kind, name))
	}
	err = fmt.Errorf("open the %s %s: %w", kind, name, err)
	if _, kernel := errors.AsType[syscall.Errno](err); kernel {
		return privilege(err)
	}
	return i.incompatible(err)
}

func (i *Instance) incompatible(err error) error {
	return fmt.Errorf("%w is at %s: %w; detach it with the headgate that made it or with "+
		"`headgate detach --all`", ErrIncompatible, filepath.Dir(i.dir), err)
}
