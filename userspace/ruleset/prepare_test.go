package ruleset_test

import (
	"testing"

	"github.com/headgate/headgate/userspace/ruleset"
)

// What is prepared changes nothing until it is committed, and then has what keys owe at that moment.
func TestPreparedRules(t *testing.T) {
	of := func(burst string) string { return zoned("rate: 1r/h", ", burst: "+burst+", nodelay: true") }
	l := newLive(t, of("4"))
	dropped, err := l.Prepare(section(t, of("0")), alone)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "while others are prepared", passes(l, get("/"), 2, start), 2)
	dropped.Drop()
	dropped.Drop()
	equal(t, "after those were dropped", passes(l, get("/"), 1, start), 1)

	next, err := l.Prepare(section(t, of("9")), alone)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "burst of 5", passes(l, get("/"), 9, start), 2)
	equal(t, "configured still", burstOf(l), 4)
	next.Commit(start)
	next.Drop()
	equal(t, "configured", burstOf(l), 9)
	equal(t, "burst of 10", passes(l, get("/"), 9, start), 5)
	equal(t, "requests", l.Counters().Requests, 21)
	replace(t, l, of("10"))
	equal(t, "burst of 11", passes(l, get("/"), 9, start), 1)
}

// burstOf returns the burst of the only limit that is configured.
func burstOf(l *ruleset.Live) uint64 { return l.Config().Rules[0].Limits[0].Burst }

// Who replaces rules waits for those that are prepared, so that none are made of rules that are no longer in force.
func TestReplaceWaitsForPrepared(t *testing.T) {
	of := func(burst string) string { return zoned("rate: 1r/h", ", burst: "+burst+", nodelay: true") }
	l := newLive(t, of("4"))
	next, err := l.Prepare(section(t, of("6")), alone)
	if err != nil {
		t.Fatal(err)
	}
	replaced := make(chan error)
	go func() { replaced <- l.Replace(section(t, of("9")), alone, start) }()
	equal(t, "burst of 5", passes(l, get("/"), 9, start), 5)
	next.Commit(start)
	if err := <-replaced; err != nil {
		t.Fatal(err)
	}
	equal(t, "burst of 10", passes(l, get("/"), 9, start), 5)
}
