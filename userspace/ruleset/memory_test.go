package ruleset

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/keyed"
)

// TestTablesOfManyValues: 10,000 values take one look-up, and one for each length of prefix.
func TestTablesOfManyValues(t *testing.T) {
	parts, err := newParts([]config.KeyPart{{Kind: config.KeyHeader, Name: "plan"}, {Kind: config.KeyIP}})
	if err != nil {
		t.Fatal(err)
	}
	v := values{parts: parts}
	for i := range 10_000 {
		host := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
		if err := v.add(config.Value{{Text: fmt.Sprint(i % 7)}, {Prefix: netip.PrefixFrom(host, 32)}}, i); err != nil {
			t.Fatal(err)
		}
	}
	if len(v.tables) != 1 || len(v.tables[0].first) != 10_000 {
		t.Errorf("%d tables, the first of %d values", len(v.tables), len(v.tables[0].first))
	}
	for _, prefix := range []string{"10.0.0.0/24", "10.0.1.0/24", "2001:d00::/24", "::1/128", "::ffff:10.0.0.0/120"} {
		if err := v.add(config.Value{{Text: "gold"}, {Prefix: netip.MustParsePrefix(prefix)}}, 10_000); err != nil {
			t.Fatal(err)
		}
	}
	if len(v.tables) != 3 {
		t.Errorf("%d tables for /32, /24 and /128", len(v.tables))
	}
}

// TestFreedMemoryKeepsNothingAlive: of a request that has ended nothing is left in the pool.
func TestFreedMemoryKeepsNothingAlive(t *testing.T) {
	s, err := New(config.HTTP{
		Zones: []config.Zone{
			{Name: "slots", Key: []config.KeyPart{{Kind: config.KeyPath}}, Algorithm: config.Concurrent, Slots: 1},
			{Name: "absent", Key: []config.KeyPart{{Kind: config.KeyCookie, Name: "c"}}, Algorithm: config.Concurrent, Slots: 1},
		},
		Rules: []config.Rule{{Limits: []config.Use{{Zone: 0}, {Zone: 1}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := s.Decide(&Request{Path: "/secret"}, 0)
	if len(d.Limits) != 1 || len(d.Skipped) != 1 || len(d.leases) != 1 {
		t.Fatal(d)
	}
	d.Free(0)
	kept := d.Limits[:1][0].key != "" || d.Skipped[:1][0].Rule != "" || d.texts[:1][0] != "" ||
		d.charges[:1][0].Key != (keyed.Key{}) || d.spans[:1][0].rule != nil || d.leases[:1][0].key != (keyed.Key{}) || d.view.Request != nil
	if kept {
		t.Error("something is kept")
	}
}

// TestLargeBuffersAreNotKept: one request with a long argument does not make the pool large.
func TestLargeBuffersAreNotKept(t *testing.T) {
	s, err := New(config.HTTP{
		Zones: []config.Zone{{
			Name: "z", Key: []config.KeyPart{{Kind: config.KeyQuery, Name: "q"}}, Quota: config.Quota{Count: 1, Per: time.Hour},
		}},
		Rules: []config.Rule{{Limits: []config.Use{{Zone: 0}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, length := range []int{100, 10 * keptBuffer} {
		d := s.Decide(&Request{Path: "/", RawQuery: "q=%61" + strings.Repeat("x", length)}, 0)
		if cap(d.buf) < length {
			t.Fatalf("the buffer has room for %d bytes of %d", cap(d.buf), length)
		}
		d.Free(0)
		if kept := cap(d.buf) > 0; cap(d.buf) > keptBuffer || kept != (length < keptBuffer) {
			t.Errorf("%d bytes are kept of %d", cap(d.buf), length)
		}
	}
}
