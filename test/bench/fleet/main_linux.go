package main

import (
	"context"
	"io"
	"os/signal"
	"syscall"
	"time"

	"github.com/headgate/headgate/test/bench/host"
	"github.com/headgate/headgate/test/bench/report"
	"github.com/headgate/headgate/userspace/redisconn"
)

func main() {
	redisconn.Quiet()
	report.Main("fleet", "few rounds: in seconds, and not exact", run)
}

// plan is how much is measured.
type plan struct {
	rounds   int
	sample   time.Duration // of one client in one round
	keys     int
	parallel []int         // callers
	fault    time.Duration // how long each lasts
}

func planFor(quick bool) plan {
	if quick {
		return plan{rounds: 2, sample: 100 * time.Millisecond, keys: 1000, parallel: []int{1, 64}, fault: 300 * time.Millisecond}
	}
	return plan{rounds: 9, sample: 400 * time.Millisecond, keys: 1000, parallel: []int{1, 8, 64, 256}, fault: time.Second}
}

func run(o report.Options, out, progress io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	r, err := measureAll(ctx, planFor(o.Quick), progress)
	if err != nil {
		return err
	}
	return o.Write(out, r)
}

func measureAll(ctx context.Context, p plan, progress io.Writer) (*report.Fleet, error) {
	on, err := host.Read()
	if err != nil {
		return nil, err
	}
	r := &report.Fleet{Host: on, Rounds: p.rounds, Sample: p.sample, Keys: p.keys}
	if r.Rows, err = measureClients(ctx, p, progress); err != nil {
		return nil, err
	}
	r.Faults, err = measureFaults(ctx, p, progress)
	return r, err
}
