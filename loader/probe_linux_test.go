package loader

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/need"
)

// TestProbe plays kernels that lack something.
func TestProbe(t *testing.T) {
	has := func() error { return nil }
	lacks := func() error { return fmt.Errorf("probe: %w", ebpf.ErrNotSupported) }
	cannotTell := func() error { return errors.New("out of memory") }
	tests := []struct {
		name     string
		features []feature
		want     string
	}{
		{"has all", []feature{{"a", "4.1", has}, {"b", "4.2", has}}, ""},
		{"cannot tell", []feature{{"a", "4.1", cannotTell}}, ""},
		{"too old", []feature{{"a", "4.1", has}, {"ring buffers", "5.8", lacks}, {"c", "6.0", lacks}},
			"has no ring buffers, which came with Linux 5.8; headgate needs Linux 5.15 or later"},
	}
	for _, tt := range tests {
		err := probe(tt.features)
		if tt.want == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), KernelRelease()) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestProbeOfThisKernel(t *testing.T) {
	need.Root(t)
	if err := probe(required()); err != nil {
		t.Error(err)
	}
}

func TestLoadError(t *testing.T) {
	old := loadError(fmt.Errorf("map x: %w", ebpf.ErrNotSupported))
	if !errors.Is(old, ErrUnsupported) || !strings.Contains(old.Error(), "headgate needs Linux 5.15 or later") {
		t.Errorf("too old: %v", old)
	}
	refused := loadError(&ebpf.VerifierError{Log: []string{"R1 invalid mem access"}})
	if !strings.Contains(refused.Error(), "please report this") {
		t.Errorf("refused: %v", refused)
	}
}

// TestWhoMay does not tell root to become root.
func TestWhoMay(t *testing.T) {
	for euid, sudo := range map[int]bool{0: false, 1000: true} {
		if got := whoMay(euid); got == "" || strings.Contains(got, "sudo") != sudo {
			t.Errorf("user %d: %q", euid, got)
		}
	}
	err := privilege(os.ErrPermission)
	if !errors.Is(err, ErrPrivilege) || !errors.Is(err, os.ErrPermission) || !strings.HasSuffix(err.Error(), whoMay(os.Geteuid())) {
		t.Errorf("error %v", err)
	}
	if err := privilege(os.ErrNotExist); errors.Is(err, ErrPrivilege) {
		t.Errorf("error %v, want it as it was", err)
	}
}

// TestOutOfMemory asks for tables that no kernel makes: of more entries than it counts, and than
// there is memory for.
func TestOutOfMemory(t *testing.T) {
	for _, n := range []uint32{1<<32 - 1, 1 << 31} {
		o := small(t)
		o.MaxSources, o.MaxRules = n, 7
		_, _, err := Create(o)
		want := fmt.Sprintf("no memory for --max-sources %d, --max-rules 7 and --heat-memory 1048576, use smaller ones", n)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if _, err := os.Stat(o.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("stat: %v, want nothing left", err)
		}
	}
	if outOfMemory(&ebpf.VerifierError{Cause: unix.E2BIG}) {
		t.Error("a program that is too large is taken for a map")
	}
}

// TestSources raises a table that is too small to be one, and says so.
func TestSources(t *testing.T) {
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		t.Fatal(err)
	}
	least := max(uint32(minSources), uint32(cpus)*minSourcesPerCPU)
	for asked, want := range map[uint32]uint32{1: least, least - 1: least, least: least, 1 << 20: max(1<<20, least)} {
		notices := 0
		got := sources(Options{MaxSources: asked, Notice: func(s string) {
			notices++
			if !strings.Contains(s, fmt.Sprintf("from %d to %d", asked, want)) {
				t.Errorf("notice %q", s)
			}
		}})
		if got != want || notices != 0 != (asked < least) {
			t.Errorf("asked for %d: %d and %d notices, want %d", asked, got, notices, want)
		}
	}
}

func TestModes(t *testing.T) {
	for _, m := range []Mode{Auto, Native, Generic} {
		if got, err := ParseMode(m.String()); err != nil || got != m {
			t.Errorf("%v: %v, %v", m, got, err)
		}
	}
	if _, err := ParseMode("fast"); err == nil {
		t.Error("no error for a mode that there is not")
	}
	for attached, want := range map[uint32]Mode{0: Auto, 1: Native, 2: Generic, 3: Auto, 4: Auto} {
		if got := modeOf(attached); got != want {
			t.Errorf("attached %d: %v, want %v", attached, got, want)
		}
	}
}
