package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cilium/ebpf"

	"github.com/headgate/headgate/test/bench/host"
	"github.com/headgate/headgate/test/bench/report"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/thread"
)

// plan is how much is measured.
type plan struct {
	rounds   int
	repeat   int // packets per sample where sizes are compared
	warmUp   int // packets per source beforehand
	largest  uint64
	handoffs int // of a cache line
	// together is how long CPUs work at once: so long that hardly anything is done before the other CPU starts, for which
	// the kernel may take 20 ms.
	together time.Duration
}

func planFor(quick bool) plan {
	if quick {
		return plan{rounds: 3, repeat: 100_000, warmUp: 1, largest: 100_000, handoffs: 100_000, together: 100 * time.Millisecond}
	}
	return plan{rounds: 9, repeat: 400_000, warmUp: 3, largest: 4_000_000, handoffs: 2_000_000, together: 400 * time.Millisecond}
}

func measureAll(p plan, progress io.Writer) (*report.Scale, error) {
	cpus := need.AllowedCPUs()
	if len(cpus) < 2 {
		return nil, errors.New("needs two CPUs")
	}
	cpus = cpus[:2]
	on, err := host.Read()
	if err != nil {
		return nil, err
	}
	r := &report.Scale{Host: on, Rounds: p.rounds, Repeat: p.repeat, Together: p.together}
	fmt.Fprintln(progress, "scale: sources")
	if r.Sizes, err = measureSizes(p); err != nil {
		return nil, err
	}
	fmt.Fprintln(progress, "scale: CPUs")
	if r.Line, err = lineTime(cpus, p); err != nil {
		return nil, err
	}
	r.CPUs, err = measureCPUs(cpus, p)
	return r, err
}

// timeRun returns the CPU time that a program takes for a packet of a run, in ns. It must run in thread.Run.
func timeRun(program *ebpf.Program, frame []byte, packets int) (float64, error) {
	if err := thread.BlockSignals(); err != nil {
		return 0, err
	}
	before, err := thread.Time()
	if err != nil {
		return 0, err
	}
	if _, err := program.Run(&ebpf.RunOptions{Data: frame, Repeat: uint32(packets)}); err != nil {
		return 0, err
	}
	after, err := thread.Time()
	return float64(after-before) / float64(packets), err
}
