package e2e_test

import (
	"strings"
	"testing"
)

// wantHeat checks which heat table there is, and up to which flood the default policy holds.
func (l *lab) wantHeat(bytes uint64, holds float64) {
	l.tb.Helper()
	s := query[statusJSON](l, "status")
	if s.Heat.MemoryBytes != bytes || s.Heat.Cells != int(bytes/16) {
		l.tb.Errorf("the heat table has %d bytes and %d cells, want %d bytes", s.Heat.MemoryBytes, s.Heat.Cells, bytes)
	}
	if p := s.Heat.Policies; len(p) != 1 || p[0].Policy != "default" || p[0].HoldsPPS != holds {
		l.tb.Errorf("%+v hold, want %f packets a second", p, holds)
	}
	for _, m := range s.Memory.Maps {
		if m.Name == "heat_lines" && m.MaxEntries == int(bytes/64) {
			return
		}
	}
	l.tb.Errorf("the kernel has no such table among %+v", s.Memory.Maps)
}

// A new instance has the heat table that is asked for, and keeps it.
func TestHeatMemory(t *testing.T) {
	l := newLab(t)
	l.attach("--rate", "1kpps", "--heat-memory", "256KiB")
	l.wantHeat(256<<10, 4_096_000)
	l.attach("--heat-memory", "1MiB").wantNote(t, "keeps its size; --max-sources, --max-rules and --heat-memory are for a new one")
	l.wantHeat(256<<10, 4_096_000)
	if out := l.must("status").stdout; !strings.Contains(out, "default: up to 4.1 Mpps of new sources") {
		t.Errorf("status says\n%s", out)
	}
}

// Without the flag it has one that holds a flood of 10 million packets a second from made-up addresses, or a note says
// what to do.
func TestHeatMemoryByRate(t *testing.T) {
	l := newLab(t)
	note := "finds room up to 5.2 Mpps; attached anew with --heat-memory 128MiB it is 10.5 Mpps, and `headgate policy set strangers --unverified --key shared"
	for _, tt := range []struct {
		rate  string
		bytes uint64
		holds float64
		note  bool
	}{
		{"1kpps", 1 << 20, 16_384_000, false},
		{"100pps", 8 << 20, 13_107_200, false},
		{"5pps", 64 << 20, 5_242_880, true},
	} {
		r := l.attach("--rate", tt.rate)
		l.wantHeat(tt.bytes, tt.holds)
		if strings.Contains(r.stderr, note) != tt.note {
			t.Errorf("%s: %s", tt.rate, r.stderr)
		}
		if again := l.attach("--rate", tt.rate); strings.Contains(again.stderr, "finds room") {
			t.Errorf("%s, of an instance that keeps its table: %s", tt.rate, again.stderr)
		}
		l.must("detach", "--all")
	}
}

// Each policy has an overflow, which commands leave as it is unless it is named.
func TestOverflow(t *testing.T) {
	l := newLab(t)
	want := func(overflows ...string) {
		t.Helper()
		for n, p := range query[[]policyJSON](l, "policies") {
			if p.Overflow != overflows[n] {
				t.Errorf("the overflow of %s is %s, want %s", p.Name, p.Overflow, overflows[n])
			}
		}
	}
	l.attach("--rate", "1kpps")
	want("estimate")
	l.attach("--overflow", "drop")
	l.must("policy", "set", "dns", "--port", "53", "--rate", "50pps", "--overflow", "pass")
	want("drop", "pass")
	l.attach("--rate", "2kpps")
	l.must("policy", "set", "dns", "--rate", "40pps")
	want("drop", "pass")
	if out := l.must("set", "default", "--overflow", "pass").stdout; out != "default limit: 2kpps, burst 2k; overflow: pass\n" {
		t.Errorf("it says %q", out)
	}
	l.must("policy", "set", "dns", "--overflow", "estimate")
	want("pass", "estimate")
}

// What all strangers share is not for those with a limit of their own, until the policy is for all again.
func TestUnverifiedByCommand(t *testing.T) {
	l := newLab(t)
	l.attach("--rate", "1kpps", "--burst", "1k")
	l.must("policy", "set", "strangers", "--unverified", "--key", "shared", "--rate", "1pph", "--burst", "5")
	l.must("set", "203.0.113.1", "--rate", "1kpps")
	l.wantPassed(udp("203.0.113.2"), 3, 3)
	l.wantPassed(udp("203.0.113.3"), 3, 2)
	l.wantPassed(udp("203.0.113.1"), 3, 3)
	if out := l.must("policies").stdout; !strings.Contains(out, "strangers  unverified") {
		t.Errorf("policies says\n%s", out)
	}
	l.must("policy", "set", "strangers", "--unverified=false")
	l.wantPassed(udp("203.0.113.1"), 3, 0)
}
