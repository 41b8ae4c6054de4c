package loader

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf/link"
	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/test/netlab/netlabtest"
)

// TestTries has the plain program before the one for several buffers, and native before generic.
func TestTries(t *testing.T) {
	plain, frags := try{bpf.Program, link.XDPDriverMode}, try{bpf.ProgramFrags, link.XDPDriverMode}
	generic := try{bpf.Program, link.XDPGenericMode}
	for mode, want := range map[Mode][]try{
		Auto: {plain, frags, generic}, Native: {plain, frags}, Generic: {generic},
	} {
		if got := tries(mode); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", mode, got, want)
		}
	}
}

func TestAttach(t *testing.T) {
	tests := []struct {
		name  string
		mtu   int
		mode  Mode
		want  Mode
		frags bool
	}{
		{"auto", 1500, Auto, Native, false},
		{"native", 1500, Native, Native, false},
		{"generic", 1500, Generic, Generic, false},
		{"jumbo", 9000, Auto, Native, true},
		{"jumbo native", 9000, Native, Native, true},
		{"jumbo generic", 9000, Generic, Generic, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			far := netlabtest.Pair(t, netlab.PairOptions{MTU: tt.mtu}).Far
			i := create(t, small(t))
			got := mustAttach(t, i, far, tt.mode)
			want := Attachment{Name: far.Name, Index: far.Index, Mode: tt.want, Frags: tt.frags, Up: true, ProgramID: programOn(t, far)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("attachment (-want +got):\n%s", diff)
			}
			again, already, err := attachTo(t, i, far, Auto)
			if err != nil || !already || again != want {
				t.Errorf("again: %+v, already %t, %v", again, already, err)
			}
		})
	}
}

// TestDetachIsOver has no program left when Detach or RemoveAll returns, so that attaching again
// works at once. It asks without any delay, as the kernel would need but a moment by itself.
func TestDetachIsOver(t *testing.T) {
	far := netlabtest.Pair(t, netlab.PairOptions{}).Far
	o := small(t)
	for name, detach := range map[string]func(*Instance) error{
		"Detach":    func(i *Instance) error { return i.Detach(far.Index) },
		"RemoveAll": (*Instance).RemoveAll,
	} {
		for range 10 {
			i := create(t, o)
			mustAttach(t, i, far, Auto)
			err := far.Namespace.Do(func() error {
				if err := detach(i); err != nil {
					return err
				}
				iface, err := netlink.LinkByIndex(far.Index)
				if err == nil && iface.Attrs().Xdp.Attached {
					t.Errorf("%s: program %d is still attached", name, iface.Attrs().Xdp.ProgId)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			i.Close()
		}
	}
	i := create(t, o)
	if err := i.Detach(far.Index); !errors.Is(err, ErrNotAttached) {
		t.Errorf("second detach: %v", err)
	}
}

// TestOtherNamespace does not take an interface of another namespace, which has the same number,
// for one that it is attached to.
func TestOtherNamespace(t *testing.T) {
	one, two := netlabtest.Pair(t, netlab.PairOptions{}).Far, netlabtest.Pair(t, netlab.PairOptions{FarName: "other0"}).Far
	if one.Index != two.Index {
		t.Fatalf("interfaces %d and %d, want the same number", one.Index, two.Index)
	}
	i := create(t, small(t))
	mustAttach(t, i, one, Auto)
	if _, _, err := attachTo(t, i, two, Auto); err == nil || !strings.Contains(err.Error(), "of another network namespace") {
		t.Errorf("error %v, want one about another namespace", err)
	}
	err := two.Namespace.Do(func() error {
		all, err := i.Attachments()
		if len(all) != 1 || all[0].Name != "" || all[0].Gone {
			t.Errorf("attachments %+v, want one without a name", all)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestFind(t *testing.T) {
	far := netlabtest.Pair(t, netlab.PairOptions{}).Far
	i := create(t, small(t))
	mustAttach(t, i, far, Auto)
	err := far.Namespace.Do(func() error {
		got, err := i.Find([]string{far.Name, "lo"})
		if !slices.Equal(got, []int{far.Index, 0}) {
			t.Errorf("found %v", got)
		}
		if _, err := i.Find([]string{"nosuch"}); !errors.Is(err, ErrNoInterface) {
			t.Errorf("error %v, want %v", err, ErrNoInterface)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestMemory lists every map once, by name.
func TestMemory(t *testing.T) {
	i := create(t, small(t))
	memory, err := i.Memory()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range memory {
		got = append(got, m.Name)
		if m.Name == bpf.MapBuckets && (m.MaxEntries != minSources || m.Bytes < minSources*128) {
			t.Errorf("%+v: want %d entries of at least 128 bytes", m, minSources)
		}
	}
	want := bpf.PinnedMaps()
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("maps (-want +got):\n%s", diff)
	}
}
