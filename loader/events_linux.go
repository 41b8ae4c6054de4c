package loader

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/eventmap"
)

// Events returns a reader of the events. An instance has one at a time; ErrLocked says that
// another process reads them. The caller must Close it.
func (i *Instance) Events() (*EventReader, error) {
	f, err := os.Open(i.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, notLoaded(filepath.Dir(i.dir)) // removed by a detach since it was opened
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", i.dir, privilege(err))
	}
	if err := tryFlock(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("read events: %w; two readers would each see a part of them", err)
	}
	r, err := eventmap.NewReader(i.maps[bpf.MapEvents])
	if err != nil {
		f.Close()
		return nil, err
	}
	return &EventReader{Reader: r, lock: f}, nil
}

// EventReader is the one reader of an instance's events.
type EventReader struct {
	*eventmap.Reader
	lock *os.File
}

// Close ends reading and lets another process read.
func (r *EventReader) Close() error { return errors.Join(r.Reader.Close(), r.lock.Close()) }
