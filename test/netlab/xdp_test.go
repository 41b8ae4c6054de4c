//go:build linux

package netlab_test

import (
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/netlab/netlabtest"
	"github.com/headgate/headgate/test/packet"
)

const (
	native  = unix.XDP_FLAGS_DRV_MODE
	generic = unix.XDP_FLAGS_SKB_MODE
)

// attach attaches an XDP program that passes every frame.
func attach(t *testing.T, end *netlab.End, mode int) {
	t.Helper()
	const xdpPass = 2
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type:         ebpf.XDP,
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, xdpPass), asm.Return()},
		License:      "MIT",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	err = end.Namespace.Do(func() error {
		link, err := netlink.LinkByIndex(end.Index)
		if err != nil {
			return err
		}
		return netlink.LinkSetXdpFdWithFlags(link, program.FD(), mode)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestExactBehindXDP sends many more frames than the 256 that a veth queues for
// a native program.
func TestExactBehindXDP(t *testing.T) {
	for name, mode := range map[string]int{"native": native, "generic": generic} {
		t.Run(name, func(t *testing.T) {
			pair, s, c := link(t, netlab.PairOptions{})
			attach(t, pair.Far, mode)
			if err := s.SendN(packet.UDPFrame("203.0.113.7", "192.0.2.1", 53, 18), 10_000); err != nil {
				t.Fatal(err)
			}
			want := counts{four: {Packets: 10_000, Bytes: 10_000 * 60}}
			if diff := cmp.Diff(want, netlabtest.Exchange(t, s, c)); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSetGRO has the kernel cut a super-packet up, for a native program, and
// then merge the segments again or not.
func TestSetGRO(t *testing.T) {
	frame := packet.Build(packet.Ethernet{}, packet.IPv4{Src: four}, packet.TCP{Flags: packet.ACK}, packet.Zeros(10_000))
	for on, want := range map[bool]counts{
		true:  {four: {Packets: 1, Bytes: 10_054, Segments: 10}},
		false: {four: {Packets: 10, Bytes: 10 * 1054}},
	} {
		pair, s, c := link(t, netlab.PairOptions{})
		attach(t, pair.Far, native)
		for _, setting := range []bool{!on, on} {
			if err := pair.Far.SetGRO(setting); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.SendGSO(frame, 1000); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, netlabtest.Exchange(t, s, c)); diff != "" {
			t.Errorf("offload %t: counts (-want +got):\n%s", on, diff)
		}
	}
}

// TestSendGSO checks that a super-packet arrives whole, except behind a native
// program, for which the kernel cuts it up.
func TestSendGSO(t *testing.T) {
	tcp4 := packet.Build(packet.Ethernet{}, packet.IPv4{Src: four}, packet.TCP{Flags: packet.ACK}, packet.Zeros(10_000))
	tcp6 := packet.Build(packet.Ethernet{}, packet.IPv6{Src: six}, packet.TCP{Flags: packet.ACK}, packet.Zeros(10_000))
	udp4 := packet.Build(packet.Ethernet{}, packet.IPv4{Src: four}, packet.UDP{}, packet.Zeros(9_500))
	tagged := packet.Build(packet.Ethernet{}, packet.VLAN{ID: 7}, packet.IPv4{Src: four}, packet.TCP{Flags: packet.ACK}, packet.Zeros(10_000))
	tests := []struct {
		name  string
		mode  int // 0: no program
		frame []byte
		want  counts
	}{
		{"TCP over IPv4", 0, tcp4, counts{four: {Packets: 1, Bytes: 10_054, Segments: 10}}},
		{"TCP over IPv6", 0, tcp6, counts{six: {Packets: 1, Bytes: 10_074, Segments: 10}}},
		{"UDP", 0, udp4, counts{four: {Packets: 1, Bytes: 9_542, Segments: 10}}},
		{"tagged", 0, tagged, counts{four: {Packets: 1, Bytes: 10_058, Segments: 10}}},
		{"generic program", generic, tcp4, counts{four: {Packets: 1, Bytes: 10_054, Segments: 10}}},
		{"native program", native, tcp4, counts{four: {Packets: 10, Bytes: 10 * 1054}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pair, s, c := link(t, netlab.PairOptions{})
			if tt.mode != 0 {
				attach(t, pair.Far, tt.mode)
				if err := pair.Far.SetGRO(false); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.SendGSO(tt.frame, 1000); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, netlabtest.Exchange(t, s, c)); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSendGSOErrors(t *testing.T) {
	_, s, _ := link(t, netlab.PairOptions{})
	err := s.SendGSO(packet.Build(packet.Ethernet{}, packet.ARP{}), 1000)
	if err == nil || !strings.Contains(err.Error(), "no whole IP header") {
		t.Errorf("error %v, want one about the missing IP header", err)
	}
}
