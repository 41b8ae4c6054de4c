package verifiedmap

import (
	"fmt"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// mapMemory maps all lines into memory.
func mapMemory(lines *ebpf.Map) ([]byte, error) {
	size := int(lines.MaxEntries()) * int(unsafe.Sizeof(line{}))
	memory, err := unix.Mmap(lines.FD(), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the table of verified sources into memory: %w", err)
	}
	return memory, nil
}

func unmapMemory(memory []byte) error {
	if memory == nil {
		return nil
	}
	return unix.Munmap(memory)
}

// tableOf returns the lines in memory, which begins with a page and so with a line.
func tableOf(memory []byte) table {
	return unsafe.Slice((*line)(unsafe.Pointer(unsafe.SliceData(memory))), len(memory)/int(unsafe.Sizeof(line{})))
}
