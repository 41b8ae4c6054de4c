package verifiedmap

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// access says what the table is mapped for.
type access int

const (
	read  = access(unix.PROT_READ)
	write = access(unix.PROT_READ | unix.PROT_WRITE)
)

// with maps the table for as long as do takes. That costs some 20 microseconds, and there is
// nothing to close.
func (m *Map) with(a access, do func(table)) (err error) {
	lines := int(m.lines.MaxEntries())
	memory, err := unix.Mmap(m.lines.FD(), 0, lines*int(unsafe.Sizeof(line{})), int(a), unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map the table of verified sources into memory: %w", err)
	}
	defer func() { err = errors.Join(err, unix.Munmap(memory)) }()
	do(unsafe.Slice((*line)(unsafe.Pointer(unsafe.SliceData(memory))), lines)) // of whole pages, so well aligned
	return nil
}
