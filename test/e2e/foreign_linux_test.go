package e2e_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// attachOther attaches a program that is not headgate's, by netlink or by a link of its own.
func (l *lab) attachOther(name string, byLink bool) {
	l.tb.Helper()
	const pass = 2
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name:         name,
		Type:         ebpf.XDP,
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, pass), asm.Return()},
		License:      "MIT",
	})
	if err != nil {
		l.tb.Fatal(err)
	}
	l.tb.Cleanup(func() { program.Close() })
	err = l.pair.Far.Namespace.Do(func() error {
		if !byLink {
			iface, err := netlink.LinkByName(l.dev())
			if err != nil {
				return err
			}
			return netlink.LinkSetXdpFdWithFlags(iface, program.FD(), unix.XDP_FLAGS_DRV_MODE)
		}
		k, err := link.AttachXDP(link.XDPOptions{Program: program, Interface: l.pair.Far.Index, Flags: link.XDPDriverMode})
		if err != nil {
			return err
		}
		l.tb.Cleanup(func() { closeAll(l.tb, k) })
		return nil
	})
	if err != nil {
		l.tb.Fatal(err)
	}
}

func closeAll(tb testing.TB, closers ...io.Closer) {
	tb.Helper()
	var errs []error
	for _, c := range closers {
		errs = append(errs, c.Close())
	}
	if err := errors.Join(errs...); err != nil {
		tb.Error(err)
	}
}

// TestForeignProgram finds another program on the interface, leaves it there, and names it.
func TestForeignProgram(t *testing.T) {
	tests := []struct {
		name, program string
		byLink        bool
	}{
		{"netlink", "someones_filter", false},
		{"bpf_link", "cil_xdp_entry", true},
		{"libxdp dispatcher", "xdp_dispatcher", false},
	}
	for _, tt := range tests {
		for _, mode := range []string{"auto", "native", "generic"} {
			t.Run(tt.name+" "+mode, func(t *testing.T) {
				l := newLab(t)
				l.attachOther(tt.program, tt.byLink)
				id := l.programID()
				r := l.run("attach", l.dev(), "--rate", "1kpps", "--mode", mode, "--max-sources", "4096")
				r.wantError(t, 1, fmt.Sprintf("%q, program id %d", tt.program, id))
				advice := "`ip link set dev " + l.dev() + " xdpdrv off`"
				if tt.byLink {
					advice = "`bpftool link detach id "
				}
				r.wantError(t, 1, advice)
				if got := l.programID(); got != id {
					t.Errorf("program %d is attached, it was %d", got, id)
				}
				l.wantNoPins()
			})
		}
	}
}

// TestOtherInstance finds the program of another instance on the interface, and says so.
func TestOtherInstance(t *testing.T) {
	l := newLab(t)
	l.attach("--rate", "1kpps")
	other := labOn(t, l.pair, l.pin+"-other")
	other.run("attach", l.dev(), "--rate", "5pps", "--max-sources", "4096").wantError(t, 1, "of another headgate instance; name its directory with --pin")
	other.wantNoPins()
}

// TestSecondInterfaceFails has the second of two interfaces taken: the first is let go again.
func TestSecondInterfaceFails(t *testing.T) {
	l := newLab(t)
	other := l.beside(pairTwo(), l.pin)
	other.attachOther("someones_filter", false)

	args := []string{"attach", l.dev(), other.dev(), "--rate", never, "--burst", "1", "--max-sources", "4096"}
	l.run(args...).wantError(t, 1, "someones_filter")
	l.wantNoInstance()

	// An instance that was there keeps what it had.
	third := l.beside(pairThree(), l.pin)
	third.attach("--rate", "2kpps", "--burst", "9")
	before := third.state()
	l.run(args...).wantError(t, 1, "someones_filter")
	third.wantState(before)
	if id := l.programID(); id != 0 {
		t.Errorf("program %d is still on the first interface", id)
	}
}
