//go:build linux

package progtest

import (
	"bytes"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/test/thread"
)

// Action is what the program tells the driver to do with a frame.
type Action uint32

// The actions that the program may return, and the one that it never may.
const (
	Aborted Action = iota
	Drop
	Pass
)

// Decision is what became of one frame.
type Decision struct {
	Outcome
	Length uint64 // that was charged: of the IP packet
}

// Run gives the program one frame. It ends the test unless the frame was counted exactly once,
// returned with the action that fits its verdict, and left as it was.
func (l *Lab) Run(frame []byte) Decision {
	l.tb.Helper()
	before := l.Counts()
	action := l.Action(frame)
	moved := l.Counts().Since(before)
	if len(moved) != 1 {
		l.tb.Fatalf("one frame moved the counters by %v; want exactly one of them", moved)
	}
	var d Decision
	for outcome, c := range moved {
		if c.Packets != 1 {
			l.tb.Fatalf("one frame was counted as %v", moved)
		}
		d = Decision{outcome, c.Bytes}
	}
	if want := actionFor(d.Verdict); action != want {
		l.tb.Fatalf("%v: the action is %d, want %d", d.Outcome, action, want)
	}
	return d
}

// Action gives the program one frame and returns only what it says to the driver.
func (l *Lab) Action(frame []byte) Action {
	l.tb.Helper()
	// The kernel tells how much it wrote, so room for more shows a frame that grew.
	out := make([]byte, len(frame)+256)
	options := ebpf.RunOptions{Data: frame, DataOut: out}
	action, err := l.prog.Run(&options)
	l.check(err)
	if !bytes.Equal(options.DataOut, frame) {
		l.tb.Fatalf("the program changed the frame from\n%x to\n%x", frame, options.DataOut)
	}
	return Action(action)
}

// RunN gives the program one frame n times on one CPU and returns what was counted.
func (l *Lab) RunN(frame []byte, n int) Counts {
	l.tb.Helper()
	before := l.Counts()
	l.check(thread.Run(thread.AnyCPU, func() error { return l.repeat(frame, n) }))
	return l.counted(before, n)
}

// RunAll gives the program one frame after the other and returns what was counted.
func (l *Lab) RunAll(frames ...[]byte) Counts {
	l.tb.Helper()
	before := l.Counts()
	for _, frame := range frames {
		l.Action(frame)
	}
	return l.counted(before, len(frames))
}

// counted returns what was counted after before, and ends the test if it is not n packets.
func (l *Lab) counted(before Counts, n int) Counts {
	l.tb.Helper()
	moved := l.Counts().Since(before)
	if got := moved.Packets(); got != uint64(n) {
		l.tb.Fatalf("%d frames were counted as %d: %v", n, got, moved)
	}
	return moved
}

func actionFor(v bpf.Verdict) Action {
	if v == bpf.VerdictDrop {
		return Drop
	}
	return Pass
}
