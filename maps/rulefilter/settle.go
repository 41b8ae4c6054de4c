package rulefilter

import "github.com/cilium/ebpf"

// settle waits until all programs have ended that run now. The kernel does that when an entry of a map
// of maps is replaced, before it returns; that is the only way to ask for it on all kernels
// (membarrier refuses where CPUs run without a clock tick).
func settle() error {
	inner := &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1}
	outer, err := ebpf.NewMap(&ebpf.MapSpec{
		Type: ebpf.ArrayOfMaps, KeySize: 4, ValueSize: 4, MaxEntries: 1, InnerMap: inner,
	})
	if err != nil {
		return err
	}
	defer outer.Close()
	m, err := ebpf.NewMap(inner)
	if err != nil {
		return err
	}
	defer m.Close()
	return outer.Put(uint32(0), m)
}
