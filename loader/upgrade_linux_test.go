package loader

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/heatmap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/netlab/netlabtest"
)

// outdate makes the instance one of another build.
func outdate(t *testing.T, i *Instance) {
	t.Helper()
	var g bpf.Global
	if err := i.maps[bpf.MapGlobals].Lookup(uint32(0), &g); err != nil {
		t.Fatal(err)
	}
	g.Build[0] ^= 0xff
	if err := i.maps[bpf.MapGlobals].Put(uint32(0), &g); err != nil {
		t.Fatal(err)
	}
}

func wantOutdated(t *testing.T, i *Instance, want bool) {
	t.Helper()
	if got, err := i.Outdated(); err != nil || got != want {
		t.Errorf("outdated %t, %v; want %t", got, err, want)
	}
}

// attachTwo attaches an instance to two interfaces of one namespace.
func attachTwo(t *testing.T) (i *Instance, o Options, ends []*netlab.End) {
	t.Helper()
	first := netlabtest.Pair(t, netlab.PairOptions{})
	second, err := netlab.NewPair(first.Near.Namespace, first.Far.Namespace, netlab.PairOptions{NearName: "near1", FarName: "far1", MTU: 9000})
	if err != nil {
		t.Fatal(err)
	}
	o = small(t)
	i = create(t, o)
	ends = []*netlab.End{first.Far, second.Far}
	for _, end := range ends {
		mustAttach(t, i, end, Auto)
	}
	return i, o, ends
}

// upgrade runs in the interfaces' namespace, as the command does.
func upgrade(i *Instance, end *netlab.End) error {
	return end.Namespace.Do(i.Upgrade)
}

// constant reads a constant of the program that an instance has.
func constant(t *testing.T, i *Instance, name string, value any) {
	t.Helper()
	spec, err := bpf.Load()
	if err != nil {
		t.Fatal(err)
	}
	all := constants(t, i)
	v := spec.Variables[name]
	if _, err := binary.Decode(all[v.Offset:][:v.Size()], binary.NativeEndian, value); err != nil {
		t.Fatal(err)
	}
}

// constants returns all of them, as they lie in memory.
func constants(t *testing.T, i *Instance) []byte {
	t.Helper()
	info, err := i.programs[bpf.Program].Info()
	if err != nil {
		t.Fatal(err)
	}
	ids, _ := info.MapIDs()
	for _, id := range ids {
		m, err := ebpf.NewMapFromID(id)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if info, err := m.Info(); err != nil || info.Name != ".rodata" {
			continue
		}
		value, err := m.LookupBytes(uint32(0))
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	t.Fatal("the program has no constants")
	return nil
}

// saltOf returns the salt that userspace hashes with, and the one that the program does.
func saltOf(t *testing.T, i *Instance) (userspace, program wire.Salt) {
	t.Helper()
	g, err := readGlobal(i.maps[bpf.MapGlobals])
	if err != nil {
		t.Fatal(err)
	}
	constant(t, i, bpf.VarHashSalt, &program)
	return g.Salt, program
}

// Each instance has a secret of its own, which its program and all processes share, also after an upgrade.
func TestSalt(t *testing.T) {
	first := create(t, small(t))
	userspace, program := saltOf(t, first)
	if userspace == (wire.Salt{}) || userspace != program {
		t.Errorf("salt %x in userspace, %x in the program", userspace, program)
	}
	if other, _ := saltOf(t, create(t, small(t))); other == userspace {
		t.Error("two instances share their salt")
	}
	if err := first.Upgrade(); err != nil {
		t.Fatal(err)
	}
	if after, program := saltOf(t, first); after != userspace || program != userspace {
		t.Errorf("salt %x in userspace, %x in the program after an upgrade, want %x", after, program, userspace)
	}
}

// A new instance has the heat table that is asked for, rounded down to one that there is; one that exists keeps its own,
// also when it is opened with another size or upgraded, and its program knows how large that is.
func TestHeatMemory(t *testing.T) {
	o := small(t)
	o.HeatMemory = 300 << 10
	var notices []string
	o.Notice = func(s string) { notices = append(notices, s) }
	i := create(t, o)
	wantHeat(t, i, 256<<10)
	if len(notices) != 1 || !strings.Contains(notices[0], "rounded --heat-memory from 307200 to 262144 bytes") {
		t.Errorf("notices %q", notices)
	}
	i.Close()
	o.HeatMemory = 1 << 20
	i = create(t, o)
	wantHeat(t, i, 256<<10)
	if err := i.Upgrade(); err != nil {
		t.Fatal(err)
	}
	wantHeat(t, i, 256<<10)
	wantHeat(t, create(t, small(t)), heatmap.DefaultMemory)
	if len(notices) != 1 {
		t.Errorf("notices %q", notices)
	}
}

func wantHeat(t *testing.T, i *Instance, bytes uint64) {
	t.Helper()
	var mask uint32
	constant(t, i, bpf.VarHeatMask, &mask)
	if got := i.Heat().Memory(); got != bytes || uint64(mask+1)*64 != bytes || uint64(i.Heat().Cells())*16 != bytes {
		t.Errorf("a heat table of %d bytes, of %d lines to the program, want %d bytes", got, mask+1, bytes)
	}
}

func TestUpgrade(t *testing.T) {
	i, o, ends := attachTwo(t)
	wantOutdated(t, i, false)
	outdate(t, i)
	wantOutdated(t, i, true)
	old := []uint32{programOn(t, ends[0]), programOn(t, ends[1])}
	if err := upgrade(i, ends[0]); err != nil {
		t.Fatal(err)
	}
	wantOutdated(t, i, false)
	for n, end := range ends {
		if id := programOn(t, end); id == old[n] || id == 0 {
			t.Errorf("program %d on %s, it was %d", id, end.Name, old[n])
		}
	}
	i.Close()
	again := create(t, o) // what is pinned is what is attached
	if got, want := programID(again.programs[bpf.Program]), programOn(t, ends[0]); got != want {
		t.Errorf("program %d is pinned, %d attached", got, want)
	}
	if got, want := programID(again.programs[bpf.ProgramFrags]), programOn(t, ends[1]); got != want {
		t.Errorf("program %d for several buffers is pinned, %d attached", got, want)
	}
}

// TestUpgradeRollsBack has the update of one link fail, the first or the second: all links carry
// the old program afterwards, the pins are the old ones, and the next try works.
func TestUpgradeRollsBack(t *testing.T) {
	for failing := 1; failing <= 2; failing++ {
		i, _, ends := attachTwo(t)
		outdate(t, i)
		old := []uint32{programOn(t, ends[0]), programOn(t, ends[1])}
		broken := errors.New("broken")
		calls := 0
		i.update = func(l link.Link, p *ebpf.Program) error {
			if calls++; calls == failing {
				return broken
			}
			return l.Update(p)
		}
		if err := upgrade(i, ends[0]); !errors.Is(err, broken) || !strings.Contains(err.Error(), "upgrade the program on interface") {
			t.Errorf("error %v, want %v", err, broken)
		}
		for n, end := range ends {
			if id := programOn(t, end); id != old[n] {
				t.Errorf("update %d fails: program %d on %s, it was %d", failing, id, end.Name, old[n])
			}
		}
		if got := programID(i.programs[bpf.Program]); got != old[0] {
			t.Errorf("program %d is open, want the old one, %d", got, old[0])
		}
		wantOutdated(t, i, true)
		i.update = link.Link.Update
		if err := upgrade(i, ends[0]); err != nil {
			t.Error(err)
		}
		wantOutdated(t, i, false)
	}
}

// TestUpgradeRepinFails has no way to put the new pin in its place.
func TestUpgradeRepinFails(t *testing.T) {
	i, _, ends := attachTwo(t)
	outdate(t, i)
	old := programOn(t, ends[0])
	// A directory with something in it can be neither removed nor replaced.
	for _, name := range []string{bpf.Program, bpf.ProgramFrags} {
		if err := os.MkdirAll(filepath.Join(i.dir, tempPrefix+name, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := upgrade(i, ends[0]); err == nil {
		t.Error("no error")
	}
	if id := programOn(t, ends[0]); id != old {
		t.Errorf("program %d is attached, it was %d", id, old)
	}
	wantOutdated(t, i, true)
}

// TestUpgradeInterrupted finds the pin that a killed upgrade left.
func TestUpgradeInterrupted(t *testing.T) {
	i, _, ends := attachTwo(t)
	outdate(t, i)
	if err := i.programs[bpf.Program].Pin(filepath.Join(i.dir, tempPrefix+bpf.Program)); err != nil {
		t.Fatal(err)
	}
	if err := upgrade(i, ends[0]); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(i.dir, tempPrefix+bpf.Program)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("stat: %v", err)
	}
}

// TestUpgradeKilled has an upgrade killed when it had updated the links and not the pins yet: the
// links carry programs that nobody knows, and the next try still finds the right one for each.
func TestUpgradeKilled(t *testing.T) {
	i, _, ends := attachTwo(t)
	outdate(t, i)
	coll, err := newCollection(Options{}, i.maps, wire.Salt{})
	if err != nil {
		t.Fatal(err)
	}
	defer coll.Close()
	for n, name := range []string{bpf.Program, bpf.ProgramFrags} {
		l, err := link.LoadPinnedLink(i.linkPath(ends[n].Index), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if err := l.Update(coll.Programs[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := upgrade(i, ends[0]); err != nil {
		t.Fatal(err)
	}
	for n, name := range []string{bpf.Program, bpf.ProgramFrags} {
		if got, want := programOn(t, ends[n]), programID(i.programs[name]); got != want {
			t.Errorf("program %d on %s, want %d", got, ends[n].Name, want)
		}
	}
}
