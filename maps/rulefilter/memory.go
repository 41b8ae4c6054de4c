package rulefilter

import (
	"fmt"
	"os"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// mapped maps the values of an array, which are of type V, into memory. That is how a word is written at
// once, and a bit beside others; a system call copies whole values.
func mapped[V any](f *Filter, m *ebpf.Map) ([]V, error) {
	var v V
	size := int(m.MaxEntries()) * int(unsafe.Sizeof(v))
	page := os.Getpagesize()
	memory, err := unix.Mmap(m.FD(), 0, (size+page-1)/page*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s into memory: %w", m, err)
	}
	f.mapped = append(f.mapped, memory)
	return unsafe.Slice((*V)(unsafe.Pointer(&memory[0])), m.MaxEntries()), nil
}

func unmap(memory []byte) error {
	if err := unix.Munmap(memory); err != nil {
		return fmt.Errorf("take a map out of memory: %w", err)
	}
	return nil
}
