package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/headgate/headgate/test/bench/report"
)

// measureClients has all clients decide, at all numbers of callers.
func measureClients(ctx context.Context, p plan, progress io.Writer) ([]report.FleetRow, error) {
	s, err := startServer(ctx)
	if err != nil {
		return nil, err
	}
	defer s.end()
	all := clients()
	var deciders []decider
	for _, c := range all {
		d, err := c.open(ctx, s.addr)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		defer d.close()
		deciders = append(deciders, d)
	}
	var rows []report.FleetRow
	for _, parallel := range p.parallel {
		fmt.Fprintf(progress, "fleet: %d callers\n", parallel)
		m := measurement{plan: p, parallel: parallel, server: s}
		samples := make([]report.FleetSample, len(all))
		for i, c := range all {
			samples[i] = report.FleetSample{Client: c.name, Ours: c.ours}
		}
		for round := range p.rounds + 1 {
			for k := range all {
				i := (k + round) % len(all)
				one, err := m.take(ctx, deciders[i])
				if err != nil {
					return nil, fmt.Errorf("%s: %w", all[i].name, err)
				}
				if round > 0 { // the first warms up
					samples[i].Rounds = append(samples[i].Rounds, one)
				}
			}
		}
		rows = append(rows, report.FleetRow{Parallel: parallel, Results: report.FleetResults(samples)})
	}
	return rows, nil
}

// measurement is of one number of callers.
type measurement struct {
	plan     plan
	parallel int
	server   *server
}

// take has callers decide for a while.
func (m *measurement) take(ctx context.Context, d decider) (report.FleetRound, error) {
	before, err := m.server.usage(ctx)
	if err != nil {
		return report.FleetRound{}, err
	}
	waits := make([][]time.Duration, m.parallel)
	errs := make([]error, m.parallel)
	begin := time.Now()
	var group sync.WaitGroup
	for i := range m.parallel {
		group.Go(func() { waits[i], errs[i] = m.ask(ctx, d, i, begin.Add(m.plan.sample)) })
	}
	group.Wait()
	took := time.Since(begin)
	after, err := m.server.usage(ctx)
	if err := errors.Join(append(errs, err)...); err != nil {
		return report.FleetRound{}, err
	}
	all := slices.Concat(waits...)
	slices.Sort(all)
	n := float64(len(all))
	return report.FleetRound{
		Rate: n / took.Seconds(), P50: all[len(all)/2], P99: all[len(all)*99/100],
		Trips: (after.reads - before.reads) / n, ServerCPU: time.Duration(float64(after.cpu-before.cpu) / n),
	}, nil
}

// ask decides one request after the other, and returns how long each took.
func (m *measurement) ask(ctx context.Context, d decider, caller int, end time.Time) ([]time.Duration, error) {
	var waits []time.Duration
	for n := caller * 17; ; n++ {
		begin := time.Now()
		if len(waits) > 0 && begin.After(end) || ctx.Err() != nil {
			return waits, ctx.Err()
		}
		allowed, err := d.decide("key " + strconv.Itoa(n%m.plan.keys))
		if err != nil {
			return nil, err
		}
		if !allowed {
			return nil, errors.New("a request was refused, though the limit is far away")
		}
		waits = append(waits, time.Since(begin))
	}
}
