package main

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestPrefixArgs(t *testing.T) {
	c := newConsole()
	c.stdin = strings.NewReader("10.2.3.4/8\n10.0.0.9\n")
	got, err := c.prefixArgs([]string{"192.0.2.1/24"}, "-")
	want := []netip.Prefix{
		netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("10.0.0.9/32"),
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	const notes = "headgate: note: 192.0.2.1/24 has host bits set, taken as 192.0.2.0/24\n" +
		"headgate: note: 1 prefix of standard input has host bits set; it is masked\n"
	if c.err.String() != notes {
		t.Errorf("notes %q, want %q", c.err.String(), notes)
	}
}
