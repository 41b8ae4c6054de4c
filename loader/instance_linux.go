package loader

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/bucketmap"
	"github.com/headgate/headgate/maps/heatmap"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/maps/verifiedmap"
	"github.com/headgate/headgate/maps/wire"
)

// Instance is an open instance. Its methods that change something need it opened by Open or
// Create, which hold the lock, or Lock. Those that read may be called at the same time as one that
// changes something, but for Upgrade and Close.
type Instance struct {
	dir      string      // with the layout version
	opened   fs.FileInfo // of dir
	lock     *os.File
	agent    bool          // see Options
	inner    *ebpf.MapSpec // of a configuration
	maps     map[string]*ebpf.Map
	programs map[string]*ebpf.Program
	verified *verifiedmap.Map // nil where opening failed

	// update replaces a link's program; a test makes it fail.
	update func(link.Link, *ebpf.Program) error
}

// Create opens the instance, or makes one that attaches to nothing yet and lets everything pass.
// created says which. The caller must Close it.
func Create(o Options) (i *Instance, created bool, err error) {
	o = o.withDefaults()
	if err := CheckPrivilege(); err != nil {
		return nil, false, err
	}
	if err := ensureBPFFS(o.Dir, o.Notice); err != nil {
		return nil, false, err
	}
	lock, err := makeAndLock(o.Dir, o.LockWait)
	if err != nil {
		return nil, false, err
	}
	defer closeOnError(&err, lock)

	err = checkVersion(o.Dir)
	switch {
	case err == nil:
	case errors.Is(err, ErrNotLoaded):
		if err := load(o); err != nil {
			return nil, false, errors.Join(err, removeDir(o.Dir))
		}
		created = true
	default:
		return nil, false, err
	}
	i, err = open(o)
	if err != nil {
		return nil, false, err
	}
	i.lock = lock
	return i, created, nil
}

// Open opens an instance to change it. The caller must Close it.
func Open(o Options) (i *Instance, err error) {
	o = o.withDefaults()
	if err := CheckPrivilege(); err != nil {
		return nil, err
	}
	if err := checkVersion(o.Dir); err != nil {
		return nil, err
	}
	lock, err := lockDir(o.Dir, o.LockWait)
	if err != nil {
		return nil, err
	}
	defer closeOnError(&err, lock)
	i, err = open(o)
	if err != nil {
		return nil, err
	}
	i.lock = lock
	return i, nil
}

// OpenToRead opens an instance beside whoever changes it. The caller must Close it.
func OpenToRead(o Options) (*Instance, error) {
	o = o.withDefaults()
	if err := CheckPrivilege(); err != nil {
		return nil, err
	}
	if err := checkOwner(o.Dir); err != nil {
		return nil, err
	}
	return open(o)
}

func closeOnError(err *error, f *os.File) {
	if *err != nil {
		f.Close()
	}
}

// Close closes what is open and gives back the lock. What is pinned stays.
func (i *Instance) Close() error {
	var errs []error
	if i.verified != nil {
		errs = append(errs, i.verified.Close())
	}
	for _, p := range i.programs {
		errs = append(errs, p.Close())
	}
	for _, m := range i.maps {
		errs = append(errs, m.Close())
	}
	return errors.Join(append(errs, i.Unlock())...)
}

// Policies returns the configuration.
func (i *Instance) Policies() *policymap.Map {
	return policymap.New(i.maps[bpf.MapConfigs], i.inner, i.dir)
}

// Rules returns the rules.
func (i *Instance) Rules() *rulemap.Map {
	return rulemap.New(i.maps, wire.BootTime)
}

// Buckets returns the sources.
func (i *Instance) Buckets() *bucketmap.Map {
	return bucketmap.New(i.maps[bpf.MapBuckets], i.maps[bpf.MapSharedBuckets], i.maps[bpf.MapLosses])
}

// Heat returns the table in front of the buckets.
func (i *Instance) Heat() *heatmap.Map { return heatmap.New(i.maps[bpf.MapHeat]) }

// Verified returns the verified sources, which are open as long as i is. It takes no lock to change them.
func (i *Instance) Verified() *verifiedmap.Map { return i.verified }

// Stats reads the counters.
func (i *Instance) Stats() (statmap.Stats, error) { return statmap.Read(i.maps[bpf.MapCounters]) }

// Memory returns what the kernel charges for each map, by name.
func (i *Instance) Memory() ([]MapMemory, error) {
	var memory []MapMemory
	for _, name := range bpf.PinnedMaps() {
		info, err := i.maps[name].Info()
		if err != nil {
			return nil, fmt.Errorf("ask about the map %s: %w", name, err)
		}
		bytes, _ := info.Memlock()
		memory = append(memory, MapMemory{
			Name:       name,
			MaxEntries: int(i.maps[name].MaxEntries()),
			Bytes:      bytes,
		})
	}
	slices.SortFunc(memory, func(a, b MapMemory) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return memory, nil
}

// Outdated says that the instance runs another program than this headgate has; Upgrade changes
// that.
func (i *Instance) Outdated() (bool, error) {
	var g bpf.Global
	if err := i.maps[bpf.MapGlobals].Lookup(uint32(0), &g); err != nil {
		return false, fmt.Errorf("read the program's build: %w", err)
	}
	return g.Build != build(), nil
}

func build() [sha256.Size]byte { return sha256.Sum256(bpf.Object()) }

// Remove detaches everything and removes the instance. Open instances elsewhere keep reading maps
// that nothing fills any more.
func Remove(o Options) error {
	o = o.withDefaults()
	if err := CheckPrivilege(); err != nil {
		return err
	}
	own, err := ownEntries(o.Dir)
	if err != nil {
		return err
	}
	if len(own) == 0 {
		return checkVersion(o.Dir)
	}
	lock, err := lockDir(o.Dir, o.LockWait)
	if err != nil {
		return err
	}
	defer lock.Close()
	return removeDir(o.Dir)
}

// Replaced says that the instance is not at its path any more: it was removed, and there is none or
// another one. What is open of it is to be read still, but nothing changes there.
func (i *Instance) Replaced() bool {
	now, err := os.Stat(i.dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) // else it cannot be told
	}
	return !os.SameFile(i.opened, now)
}

// Same says that both are, or were, the same instance.
func (i *Instance) Same(other *Instance) bool { return os.SameFile(i.opened, other.opened) }

func (i *Instance) linkPath(number int) string {
	return filepath.Join(i.dir, linksDir, strconv.Itoa(number))
}
