package loader

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"
	"golang.org/x/sys/unix"
)

// minKernel is the oldest kernel that headgate is made for.
const minKernel = "5.15"

// feature is something that the program needs of the kernel.
type feature struct {
	name  string
	since string
	probe func() error
}

func required() []feature {
	mapType := func(t ebpf.MapType) func() error {
		return func() error { return features.HaveMapType(t) }
	}
	return []feature{
		{"XDP programs", "4.8", func() error { return features.HaveProgramType(ebpf.XDP) }},
		{"LPM trie maps", "4.11", mapType(ebpf.LPMTrie)},
		{"LRU hash maps", "4.10", mapType(ebpf.LRUHash)},
		{"maps of maps", "4.12", mapType(ebpf.ArrayOfMaps)},
		{"ring buffers", "5.8", mapType(ebpf.RingBuf)},
		{"bounded loops", "5.3", features.HaveBoundedLoops},
		{"the boot clock in programs", "5.8", func() error {
			return features.HaveProgramHelper(ebpf.XDP, asm.FnKtimeGetBootNs)
		}},
		{"atomic compare-and-swap in programs", "5.12 (on arm64 5.18)", haveAtomics},
		{"type information of its own (CONFIG_DEBUG_INFO_BTF)", "5.4", haveBTF},
	}
}

// probe returns an error that names the first feature that the kernel says it lacks. A probe that
// cannot tell is no answer: then loading will.
func probe(features []feature) error {
	for _, f := range features {
		if errors.Is(f.probe(), ebpf.ErrNotSupported) {
			return fmt.Errorf("%w: this kernel (%s) has no %s, which came with Linux %s; headgate "+
				"needs Linux %s or later with CONFIG_BPF_SYSCALL", ErrUnsupported, KernelRelease(),
				f.name, f.since, minKernel)
		}
	}
	return nil
}

// haveAtomics tries a program of one compare-and-swap. Kernels that lack it, or whose JIT does,
// refuse it; that they refuse one without it tells of something else.
func haveAtomics() error {
	load := func(swap asm.Instruction) error {
		p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
			Type: ebpf.XDP,
			Instructions: asm.Instructions{
				asm.Mov.Imm(asm.R0, 0),
				asm.Mov.Imm(asm.R1, 0),
				asm.StoreMem(asm.RFP, -8, asm.R1, asm.DWord),
				swap,
				asm.Mov.Imm(asm.R0, 0),
				asm.Return(),
			},
			License: "Dual BSD/GPL",
		})
		if err != nil {
			return err
		}
		return p.Close()
	}
	if err := load(asm.Mov.Imm(asm.R0, 0)); err != nil {
		return err
	}
	swap := asm.CmpXchg.Mem(asm.RFP, asm.R1, asm.DWord, -8)
	swap.Constant = int64(asm.CmpXchg >> 8) // ebpf v0.22 writes an addition without it
	if err := load(swap); err != nil {
		return fmt.Errorf("%w: %w", ebpf.ErrNotSupported, err)
	}
	return nil
}

// haveBTF looks for what the verifier needs to check the program's functions one by one. Where sysfs
// is not mounted it cannot tell.
func haveBTF() error {
	if _, err := os.Stat("/sys/kernel"); err != nil {
		return err
	}
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); errors.Is(err, fs.ErrNotExist) {
		return ebpf.ErrNotSupported
	}
	return nil
}

// hasFrags says whether programs can handle frames of several buffers, which came with Linux 5.18.
func hasFrags() bool {
	return features.HaveProgramHelper(ebpf.XDP, asm.FnXdpGetBuffLen) == nil
}

// KernelRelease returns the release of the running kernel, as `uname -r` does.
func KernelRelease() string {
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(uts.Release[:])
}

// CheckPrivilege returns an ErrPrivilege, which says what to do, where the process could not do anything. Whoever lacks
// privilege cannot tell this program from another one either. Mounting the bpf file system is all that needs
// CAP_SYS_ADMIN, which is also all that CAP_BPF and CAP_PERFMON are.
func CheckPrivilege() error {
	if may(unix.CAP_NET_ADMIN) && may(unix.CAP_BPF, unix.CAP_SYS_ADMIN) {
		return nil
	}
	return fmt.Errorf("%w: headgate needs CAP_BPF and CAP_NET_ADMIN to work with programs "+
		"and interfaces, and CAP_PERFMON to load its own; %s", ErrPrivilege, whoMay(os.Geteuid()))
}

// checkMayLoad fails where the process could not load the program, which compares pointers.
func checkMayLoad() error {
	if may(unix.CAP_PERFMON, unix.CAP_SYS_ADMIN) {
		return nil
	}
	return fmt.Errorf("%w: headgate needs CAP_PERFMON to load its program; %s", ErrPrivilege, whoMay(os.Geteuid()))
}

// may says whether the calling thread has one of these capabilities.
func may(capabilities ...uint) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return true // it cannot be told; the kernel will
	}
	return slices.ContainsFunc(capabilities, func(c uint) bool { return sets[c/32].Effective&(1<<(c%32)) != 0 })
}

// privilege says who may do it where that was the matter.
func privilege(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: %w; %s", ErrPrivilege, err, whoMay(os.Geteuid()))
	}
	return err
}

// whoMay says what to do for more privilege. It does not send root to root.
func whoMay(euid int) string {
	if euid != 0 {
		return "run it as root, for example with sudo"
	}
	return "root may not do it here: look at the container's capabilities, or at what a security " +
		"module or kernel lockdown forbids"
}
