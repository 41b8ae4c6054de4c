package policymap

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
)

// Map holds the configuration in force and the one that follows it when its time is over.
type Map struct {
	configs *ebpf.Map
	inner   *ebpf.MapSpec
	pins    string
}

// New returns a view of the map, which stays the caller's. inner is how a configuration's own
// map is made: the InnerMap of its spec. pins is a directory where configurations are pinned, so that
// they can be read without CAP_SYS_ADMIN; where it is empty none is.
func New(configs *ebpf.Map, inner *ebpf.MapSpec, pins string) *Map {
	return &Map{configs: configs, inner: inner, pins: pins}
}

// Load returns the configuration in force, without regard to its ValidUntil.
func (m *Map) Load() (Config, error) {
	config, ok, err := m.load(bpf.ConfigCurrent)
	if err == nil && !ok {
		err = errors.New("the instance has no configuration: a start was cut short; " +
			"run `headgate detach --all` and attach again")
	}
	return config, err
}

// Fallback returns the configuration that takes over when the one in force ends. Where there is
// none, everything passes from then on.
func (m *Map) Fallback() (Config, bool, error) { return m.load(bpf.ConfigFallback) }

// Store puts a configuration in force. When it returns, every CPU decides by it. Ids that the one
// before gave away are not given away again, even where c is older than that.
func (m *Map) Store(c Config) error {
	before, ok, err := m.load(bpf.ConfigCurrent)
	if err != nil {
		return err
	}
	if ok {
		c.skipIDs(before.nextID)
	}
	return m.store(bpf.ConfigCurrent, c)
}

// StoreFallback sets what takes over when the configuration in force ends.
func (m *Map) StoreFallback(c Config) error { return m.store(bpf.ConfigFallback, c) }

// DropFallback removes the fallback.
func (m *Map) DropFallback() error {
	err := m.configs.Delete(uint32(bpf.ConfigFallback))
	if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("remove the fallback configuration: %w", err)
	}
	return m.unpinOld()
}

func (m *Map) load(index uint32) (Config, bool, error) {
	inner, err := m.open(index)
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		return Config{}, false, nil
	}
	if err != nil {
		return Config{}, false, err
	}
	defer inner.Close()

	var encoded bpf.Config
	if err := inner.Lookup(uint32(0), &encoded); err != nil {
		return Config{}, false, fmt.Errorf("read the configuration: %w", err)
	}
	return decodeConfig(&encoded), true, nil
}

// openTries is how often a configuration may be replaced while it is opened.
const openTries = 100

// open opens a configuration, or returns ebpf.ErrKeyNotExist where there is none. That takes two
// steps; where another process replaces the configuration in between, the first one is gone at the
// second, and there is a newer one to open.
func (m *Map) open(index uint32) (inner *ebpf.Map, err error) {
	for range openTries {
		var id ebpf.MapID
		if err := m.configs.Lookup(index, &id); err != nil {
			return nil, fmt.Errorf("look up the configuration: %w", err)
		}
		inner, err = m.openID(id)
		if err == nil {
			return inner, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			break
		}
	}
	return nil, fmt.Errorf("open the configuration: %w", err)
}

func (m *Map) store(index uint32, c Config) error {
	encoded, err := c.encode()
	if err != nil {
		return err
	}
	inner, err := ebpf.NewMap(m.inner)
	if err != nil {
		return fmt.Errorf("make a configuration: %w", err)
	}
	defer inner.Close()
	if err := inner.Put(uint32(0), encoded); err != nil {
		return fmt.Errorf("write a configuration: %w", err)
	}
	if err := m.pin(inner); err != nil {
		return err
	}
	if err := m.configs.Put(index, inner); err != nil {
		return fmt.Errorf("put the configuration in force: %w", err)
	}
	return m.unpinOld()
}
