package loader

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/bucketmap"
	"github.com/headgate/headgate/maps/heatmap"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/wire"
)

// minSourcesPerCPU keeps the kernel's LRU list sensible: each CPU takes free entries in batches
// of up to 128, so that a map of few entries forgets sources long before it is full.
const (
	minSources       = 4096
	minSourcesPerCPU = 512
)

// load makes an instance in o.Dir: complete in a temporary directory, then renamed, so that there
// is a whole one or none. The lock is held.
func load(o Options) (err error) {
	if err := removeLeftovers(o.Dir); err != nil {
		return err
	}
	if err := checkMayLoad(); err != nil {
		return err
	}
	if err := probe(required()); err != nil {
		return err
	}
	salt := newSalt()
	coll, err := newCollection(o, nil, salt)
	if err != nil {
		return err
	}
	defer coll.Close()
	temp := filepath.Join(o.Dir, fmt.Sprintf("%s%d", tempPrefix, os.Getpid()))
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temp))
		}
	}()
	if err := pinAll(coll, temp); err != nil {
		return err
	}
	if err := initialise(coll, temp, salt); err != nil {
		return err
	}
	if err := os.Rename(temp, filepath.Join(o.Dir, layoutVersion)); err != nil {
		return fmt.Errorf("put the instance in its place: %w", err)
	}
	return nil
}

// newSalt draws what nobody outside may know of an instance.
func newSalt() (salt wire.Salt) {
	var random [8]byte
	for i := range salt {
		rand.Read(random[:]) // never fails
		salt[i] = binary.NativeEndian.Uint64(random[:])
	}
	return salt
}

// newCollection loads the program. With maps it works on those, and otherwise on new ones.
func newCollection(o Options, maps map[string]*ebpf.Map, salt wire.Salt) (*ebpf.Collection, error) {
	spec, err := bpf.Load()
	if err != nil {
		return nil, fmt.Errorf("parse the program: %w", err)
	}
	if err := spec.Variables[bpf.VarHashSalt].Set(salt); err != nil {
		return nil, fmt.Errorf("set the salt: %w", err)
	}
	if !hasFrags() {
		delete(spec.Programs, bpf.ProgramFrags)
	}
	for name, m := range maps {
		spec.Maps[name].MaxEntries = m.MaxEntries()
	}
	if buckets := maps[bpf.MapBuckets]; buckets != nil {
		bucketmap.MatchKeys(spec.Maps[bpf.MapBuckets], buckets)
	}
	if maps == nil {
		bucketmap.SetKeys(spec.Maps[bpf.MapBuckets], o.IPv6Prefix)
		spec.Maps[bpf.MapBuckets].MaxEntries = sources(o)
		rulemap.SetSizes(spec.Maps, o.MaxRules)
	}
	if err := setHeat(spec, o, maps[bpf.MapHeat]); err != nil {
		return nil, err
	}
	coll, err := ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{MapReplacements: maps})
	if maps == nil && outOfMemory(err) {
		return nil, fmt.Errorf("no memory for --max-sources %d, --max-rules %d and --heat-memory %d, use smaller ones: %w",
			spec.Maps[bpf.MapBuckets].MaxEntries, o.MaxRules, o.HeatMemory, err)
	}
	if err != nil {
		return nil, loadError(err)
	}
	return coll, nil
}

// setHeat gives the heat tier its size, which is that of the table where there is one, and its constants.
func setHeat(spec *ebpf.CollectionSpec, o Options, table *ebpf.Map) error {
	var memory uint64
	if table != nil {
		memory = heatmap.New(table).Memory()
	} else {
		memory = heatMemory(o)
	}
	settings, err := heatmap.OfMachine(memory, spec.Maps[bpf.MapBuckets].MaxEntries)
	if err != nil {
		return err
	}
	return heatmap.Configure(spec, settings, settings.Credits())
}

// heatMemory returns the size of the heat table, which is rounded where there is none of that size.
func heatMemory(o Options) uint64 {
	memory := heatmap.Rounded(o.HeatMemory)
	if memory != o.HeatMemory {
		o.Notice(fmt.Sprintf("rounded --heat-memory from %d to %d bytes: the table has a power of two of lines",
			o.HeatMemory, memory))
	}
	return memory
}

// sources returns the size of the bucket map, which is raised where it would be useless.
func sources(o Options) uint32 {
	least := uint32(minSources)
	if cpus, err := ebpf.PossibleCPU(); err == nil {
		least = max(least, uint32(cpus)*minSourcesPerCPU)
	}
	if o.MaxSources < least {
		o.Notice(fmt.Sprintf("raised --max-sources from %d to %d: a smaller table forgets sources "+
			"before it is full", o.MaxSources, least))
	}
	return max(o.MaxSources, least)
}

// outOfMemory says whether a map was too large. The verifier uses the same numbers for a program that
// is.
func outOfMemory(err error) bool {
	var verifier *ebpf.VerifierError
	if errors.As(err, &verifier) {
		return false
	}
	return errors.Is(err, unix.E2BIG) || errors.Is(err, unix.ENOMEM)
}

func loadError(err error) error {
	var verifier *ebpf.VerifierError
	switch {
	case errors.Is(err, ebpf.ErrNotSupported):
		return fmt.Errorf("load the program into Linux %s: %w: %w; headgate needs Linux %s or later",
			KernelRelease(), ErrUnsupported, err, minKernel)
	case errors.As(err, &verifier):
		return fmt.Errorf("the verifier of Linux %s refuses the program, please report this: %w",
			KernelRelease(), err)
	default:
		return fmt.Errorf("load the program: %w", privilege(err))
	}
}

// initialise puts a configuration in force in which everything passes, and pins it in dir.
func initialise(coll *ebpf.Collection, dir string, salt wire.Salt) error {
	spec, err := bpf.Load()
	if err != nil {
		return fmt.Errorf("parse the program: %w", err)
	}
	configs := policymap.New(coll.Maps[bpf.MapConfigs], spec.Maps[bpf.MapConfigs].InnerMap, dir)
	if err := configs.Store(policymap.NewConfig()); err != nil {
		return err
	}
	return setBuild(coll.Maps[bpf.MapGlobals], salt)
}

// setBuild writes down which program runs, and with which salt.
func setBuild(globals *ebpf.Map, salt wire.Salt) error {
	g, err := readGlobal(globals)
	if err != nil {
		return err
	}
	g.Build, g.Salt = build(), salt
	if err := globals.Put(uint32(0), &g); err != nil {
		return fmt.Errorf("write the program's build: %w", err)
	}
	return nil
}

func readGlobal(globals *ebpf.Map) (g bpf.Global, err error) {
	if err := globals.Lookup(uint32(0), &g); err != nil {
		return g, fmt.Errorf("read the program's build and salt: %w", err)
	}
	return g, nil
}

func pinAll(coll *ebpf.Collection, dir string) error {
	for _, name := range []string{linksDir, agentDir} {
		if err := os.MkdirAll(filepath.Join(dir, name), dirMode); err != nil {
			return fmt.Errorf("make %s: %w", dir, privilege(err))
		}
	}
	for _, name := range bpf.PinnedMaps() {
		if err := coll.Maps[name].Pin(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("pin the map %s: %w", name, err)
		}
	}
	for name, p := range coll.Programs {
		if err := p.Pin(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("pin the program %s: %w", name, err)
		}
	}
	return nil
}
