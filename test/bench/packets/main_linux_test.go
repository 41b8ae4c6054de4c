package main

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/wire"
)

func TestBlocks(t *testing.T) {
	const n = 1000
	for family, draw := range map[string]func(*rand.Rand) netip.Prefix{"IPv4": drawPrefix4, "IPv6": drawPrefix6} {
		t.Run(family, func(t *testing.T) {
			rules := blocks(n, draw)
			prefixes := map[netip.Prefix]bool{}
			for _, rule := range rules {
				prefixes[wire.Prefix(rule.Prefix)] = true
				if coversFrame(rule.Prefix) {
					t.Errorf("%v covers a frame", rule.Prefix)
				}
			}
			if len(prefixes) != n {
				t.Errorf("%d different prefixes, want %d", len(prefixes), n)
			}
			same := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
			if diff := cmp.Diff(rules, blocks(n, draw), same); diff != "" {
				t.Errorf("other rules the second time:\n%s", diff)
			}
		})
	}
}

func TestListed(t *testing.T) {
	rules := listed(10, rulemap.Allow, wire.Limit{})
	var own int
	for _, rule := range rules {
		if rule.Prefix.Contains(source4()) && rule.Action == rulemap.Allow {
			own++
		}
	}
	if len(rules) != 10 || own != 1 {
		t.Errorf("%d rules, %d of the source, want 10 and 1", len(rules), own)
	}
}

func TestSpreadRange(t *testing.T) {
	if size := uint64(1) << (32 - spreadRange().Bits()); size < many {
		t.Errorf("%v has %d addresses, want at least %d", spreadRange(), size, many)
	}
}

func TestSubjectsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range subjects() {
		if s.name == "" || seen[s.name] {
			t.Errorf("name %q is empty or not the only one", s.name)
		}
		seen[s.name] = true
	}
	for _, name := range []string{hotUnder, hotOver} {
		if !seen[name] {
			t.Errorf("no subject %q, which has a bound", name)
		}
	}
}

func TestFrames(t *testing.T) {
	for name, frame := range map[string][]byte{"IPv4": frame4(), "IPv6": frame6()} {
		if len(frame) != frameLength {
			t.Errorf("%s frame has %d bytes, want %d", name, len(frame), frameLength)
		}
	}
}
