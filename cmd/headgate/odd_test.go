package main

import (
	"strings"
	"testing"
)

// What is empty comes from a variable that is not set, and means no default.
func TestNothingEmpty(t *testing.T) {
	for _, args := range [][]string{
		{"--pin", "", "status"},
		{"explain", "10kpps", "--burst", ""},
		{"policy", "delete", ""},
		{"block", ""},
	} {
		c := newConsole()
		if code := c.run(t, args...); code != exitUsage || !strings.Contains(c.err.String(), "empty") {
			t.Errorf("%q: exit %d, %q; want a usage error", args, code, c.err.String())
		}
	}
}

// A shell that completes a word of which nothing is typed yet asks about an empty one.
func TestCompletion(t *testing.T) {
	c := newConsole()
	code := c.run(t, "__complete", "policy", "")
	if code != exitDone || !strings.Contains(c.out.String(), "delete\t") {
		t.Errorf("exit %d, %q, %q; want the commands below policy", code, c.out.String(), c.err.String())
	}
}

// The end of a rule that lasts nearly as long as the clock can count is far ahead, not behind.
func TestExpiryDoesNotOverflow(t *testing.T) {
	c := clock{wall: testNow(), boot: testBoot}
	if _, seconds := c.expiry(testBoot + 1<<63 - 1); seconds < 1<<33 {
		t.Errorf("%d seconds left, want centuries", seconds)
	}
}
