package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate/headgate/test/agentfake"
	"github.com/headgate/headgate/test/netlab/netlabtest"
	"github.com/headgate/headgate/userspace/event"
)

// Where the agent reads the kernel's events, or nothing is limited in the kernel, it tells what happens.
func TestEventsWhereTheAgentReadsThem(t *testing.T) {
	dir, i := newInstance(t)
	reader, err := i.Events()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for _, pin := range []string{dir, filepath.Join(netlabtest.BPFFS(t), "none")} {
		a := &agentfake.Agent{Listening: make(chan struct{})}
		c := newAgentConsole(t, a)
		go func() {
			<-a.Listening
			a.Bus.Publish(event.Event{Time: testNow(), Kind: event.Dropped, Reason: "malformed", Packet: &event.Packet{Verdict: "drop"}})
		}()
		code := c.run(t, "events", "--count", "1", "--pin", pin)
		if code != exitDone || !strings.Contains(c.out.String(), "drop, malformed\n") {
			t.Errorf("%s: exit %d, %s, %s", pin, code, c.out.String(), c.err.String())
		}
		c.err.Reset()
		if code := c.run(t, "events", "--backlog", "--for", "1ns", "--pin", pin); code != exitFailed || strings.Contains(c.err.String(), "no agent") {
			t.Errorf("%s, what the kernel kept: exit %d, %s", pin, code, c.err.String())
		}
	}
}

// An agent that has only just started is asked too, and its events are not taken from it before it reads them.
func TestEventsAreTheAgents(t *testing.T) {
	dir, i := newInstance(t)
	a := &agentfake.Agent{WithKernel: true, Listening: make(chan struct{})}
	c := newAgentConsole(t, a)
	socket := c.getenv("HEADGATE_SOCKET")
	c.getenv = environment(map[string]string{"HEADGATE_SOCKET": socket, "HEADGATE_PIN": dir})
	go func() {
		<-a.Listening
		if reader, err := i.Events(); err != nil {
			t.Errorf("the command has taken the kernel's events: %v", err)
		} else {
			reader.Close()
		}
		a.Bus.Publish(event.Event{Time: testNow(), Kind: event.Dropped, Reason: "malformed", Packet: &event.Packet{Verdict: "drop"}})
	}()
	if code := c.run(t, "events", "--count", "1", "--for", "30s"); code != exitDone || !strings.Contains(c.out.String(), "drop, malformed\n") {
		t.Errorf("exit %d, %s, %s", code, c.out.String(), c.err.String())
	}
}

// Without an agent the reason is the kernel's.
func TestEventsWithoutBoth(t *testing.T) {
	c := newConsole()
	c.getenv = environment(map[string]string{"HEADGATE_SOCKET": filepath.Join(t.TempDir(), "none")})
	code := c.run(t, "events", "--pin", filepath.Join(netlabtest.BPFFS(t), "none"))
	if code != exitFailed || !strings.Contains(c.err.String(), "no headgate instance") {
		t.Errorf("exit %d, %s", code, c.err.String())
	}
}
