package main

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/headgate/headgate/maps/rulemap"
)

// What was set, lifted and left out is told, and that all of it was left out is an error. An empty list changes nothing.
func TestPrintSet(t *testing.T) {
	one := netip.MustParsePrefix("192.0.2.0/24")
	other := netip.MustParsePrefix("198.51.100.0/24")
	for name, tt := range map[string]struct {
		prefixes []netip.Prefix
		set      rulemap.Done
		out, err string
		held     bool
	}{
		"an empty list": {out: "nothing to change\n"},
		"all":           {prefixes: []netip.Prefix{one, other}, out: "allowed 192.0.2.0/24, 198.51.100.0/24\n"},
		"some": {
			prefixes: []netip.Prefix{one, other}, set: rulemap.Done{GaveWay: 1}, out: "allowed 192.0.2.0/24, 198.51.100.0/24\n",
			err: "headgate: note: 1 of 2 stay as they are, as rules of another origin say the same there, and for longer\n",
		},
		"none": {prefixes: []netip.Prefix{one}, set: rulemap.Done{GaveWay: 1}, held: true},
		"lifted": {
			prefixes: []netip.Prefix{one}, set: rulemap.Done{Lifted: 2}, out: "allowed 192.0.2.0/24\n",
			err: "headgate: note: 2 rules for offenders inside were lifted\n",
		},
	} {
		c := newConsole()
		err := c.printSet(&global{output: "table"}, rulemap.Allow, tt.prefixes, tt.set, "")
		if errors.Is(err, rulemap.ErrHeld) != tt.held || (err != nil) != tt.held {
			t.Errorf("%s: error %v", name, err)
		}
		if out, notes := c.out.String(), c.err.String(); out != tt.out || notes != tt.err {
			t.Errorf("%s: printed %q and %q, want %q and %q", name, out, notes, tt.out, tt.err)
		}
	}
}
