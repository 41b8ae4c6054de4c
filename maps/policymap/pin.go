package policymap

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
)

// The map of maps tells only the kernel's number of a configuration's own map, and to open a map by
// its number takes CAP_SYS_ADMIN. So each is pinned under its number before it is put in force, and
// unpinned after another one is. In between there may be pins that are of no use, but never too few.

// pinPrefix is what the name of a configuration's pin begins with; the rest is the map's number.
const pinPrefix = "config-"

func (m *Map) pinPath(id ebpf.MapID) string {
	return filepath.Join(m.pins, pinPrefix+strconv.FormatUint(uint64(id), 10))
}

func (m *Map) openID(id ebpf.MapID) (*ebpf.Map, error) {
	if m.pins != "" {
		inner, err := ebpf.LoadPinnedMap(m.pinPath(id), nil)
		if err == nil {
			return inner, nil
		}
	}
	return ebpf.NewMapFromID(id)
}

func (m *Map) pin(inner *ebpf.Map) error {
	if m.pins == "" {
		return nil
	}
	info, err := inner.Info()
	if err != nil {
		return fmt.Errorf("ask about a configuration: %w", err)
	}
	id, ok := info.ID()
	if !ok {
		return errors.New("pin a configuration: the kernel tells no number of its map")
	}
	// Numbers come again after two thousand million others, and a pin of old may be in the way.
	if err := os.Remove(m.pinPath(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("pin a configuration: %w", err)
	}
	if err := inner.Pin(m.pinPath(id)); err != nil {
		return fmt.Errorf("pin a configuration: %w", err)
	}
	return nil
}

// unpinOld removes the pins of all configurations but the two of now.
func (m *Map) unpinOld() error {
	if m.pins == "" {
		return nil
	}
	var kept []string
	for _, index := range []uint32{bpf.ConfigCurrent, bpf.ConfigFallback} {
		var id ebpf.MapID
		err := m.configs.Lookup(index, &id)
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look up the configuration: %w", err)
		}
		kept = append(kept, m.pinPath(id))
	}
	entries, err := os.ReadDir(m.pins)
	if err != nil {
		return fmt.Errorf("look for old configurations: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(m.pins, e.Name())
		if !strings.HasPrefix(e.Name(), pinPrefix) || slices.Contains(kept, path) {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("unpin an old configuration: %w", err)
		}
	}
	return nil
}
