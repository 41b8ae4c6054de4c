package policymap

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
)

// Map holds the configuration in force and the one that follows it when its time is over.
type Map struct {
	configs *ebpf.Map
	inner   *ebpf.MapSpec
}

// New returns a view of the map, which stays the caller's. inner is how a configuration's own
// map is made: the InnerMap of its spec.
func New(configs *ebpf.Map, inner *ebpf.MapSpec) *Map {
	return &Map{configs: configs, inner: inner}
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

// Store puts a configuration in force. When it returns, every CPU decides by it.
func (m *Map) Store(c Config) error { return m.store(bpf.ConfigCurrent, c) }

// StoreFallback sets what takes over when the configuration in force ends.
func (m *Map) StoreFallback(c Config) error { return m.store(bpf.ConfigFallback, c) }

// DropFallback removes the fallback.
func (m *Map) DropFallback() error {
	err := m.configs.Delete(uint32(bpf.ConfigFallback))
	if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("remove the fallback configuration: %w", err)
	}
	return nil
}

func (m *Map) load(index uint32) (Config, bool, error) {
	var id ebpf.MapID
	err := m.configs.Lookup(index, &id)
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		return Config{}, false, nil
	}
	if err != nil {
		return Config{}, false, fmt.Errorf("look up the configuration: %w", err)
	}
	inner, err := ebpf.NewMapFromID(id)
	if err != nil {
		return Config{}, false, fmt.Errorf("open the configuration: %w", err)
	}
	defer inner.Close()

	var encoded bpf.Config
	if err := inner.Lookup(uint32(0), &encoded); err != nil {
		return Config{}, false, fmt.Errorf("read the configuration: %w", err)
	}
	return decodeConfig(&encoded), true, nil
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
	if err := m.configs.Put(index, inner); err != nil {
		return fmt.Errorf("put the configuration in force: %w", err)
	}
	return nil
}
