package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/headgate/headgate/test/bench/host"
	"github.com/headgate/headgate/test/bench/limiters"
	"github.com/headgate/headgate/test/bench/report"
	"github.com/headgate/headgate/test/bench/traffic"
)

// bench is one run.
type bench struct {
	plan     plan
	subjects []limiters.Subject
	start    func(limiters.Subject) (*process, error)
	progress io.Writer
}

func (b *bench) run() (*report.Requests, error) {
	on, err := host.Read()
	if err != nil {
		return nil, err
	}
	r := &report.Requests{
		Host: on, Reference: limiters.Reference, KeyBytes: traffic.KeyLen,
		Rounds: b.plan.rounds, Calls: b.plan.calls,
	}
	for _, g := range b.plan.groups() {
		fmt.Fprintf(b.progress, "requests: %d keys, %s\n", g.Keys, g.Path)
		rows, err := b.measure(g)
		if err != nil {
			return nil, err
		}
		r.Rows = append(r.Rows, rows...)
	}
	if b.plan.flood > 0 {
		r.Flood, err = b.flood()
	}
	return r, err
}

// measure measures a group: each subject in a process, all of them in turn.
func (b *bench) measure(g Group) (_ []report.Row, err error) {
	m := &measurement{group: g}
	defer func() { err = errors.Join(err, m.close()) }()
	for _, s := range g.subjects(b.subjects) {
		p, err := b.start(s)
		if err != nil {
			return nil, err
		}
		m.processes = append(m.processes, p)
		var o Opened
		if err := p.call("Open", g, &o); err != nil {
			return nil, err
		}
		m.opened = append(m.opened, o)
	}
	return m.rows()
}

// measurement is one of a group.
type measurement struct {
	group     Group
	processes []*process
	opened    []Opened
}

func (m *measurement) rows() ([]report.Row, error) {
	traffic := m.group.traffic()
	samples := make([][]report.RequestSample, len(traffic))
	for i := range samples {
		samples[i] = m.blank()
	}
	for round := range m.group.rounds() {
		for i, t := range traffic {
			if err := m.sample(SampleArgs{t, round}, samples[i]); err != nil {
				return nil, err
			}
		}
	}
	rows := make([]report.Row, len(traffic))
	for i, t := range traffic {
		distinct, err := m.distinct(t)
		if err != nil {
			return nil, err
		}
		rows[i] = report.Row{
			Keys: m.group.Keys, Path: m.group.Path, Traffic: t.Name, CPUs: t.CPUs, Distinct: distinct,
			Results: report.Results(limiters.Reference, samples[i]),
		}
	}
	return rows, nil
}

// blank returns samples of all subjects without measurements.
func (m *measurement) blank() []report.RequestSample {
	samples := make([]report.RequestSample, len(m.processes))
	for i, p := range m.processes {
		samples[i] = report.RequestSample{Subject: p.subject.Name, Ours: p.subject.Ours}
		if m.group.Keys > 1 && m.group.known() > 0 {
			samples[i].Bytes = &m.opened[i].BytesPerKey
		}
	}
	return samples
}

// sample measures all subjects once, one after the other.
func (m *measurement) sample(a SampleArgs, samples []report.RequestSample) error {
	for i, p := range m.processes {
		var s Sample
		if err := p.call("Sample", a, &s); err != nil {
			return err
		}
		samples[i].NS = append(samples[i].NS, s.NS)
		samples[i].Allocs = max(samples[i].Allocs, s.Allocs)
	}
	return nil
}

// distinct returns how many different keys each subject got, which must be all that the row
// claims; by Zipf's law, rare ones may be missing.
func (m *measurement) distinct(t Traffic) (int, error) {
	first := m.opened[0].Distinct[t.Name]
	if first != m.group.Keys && (t.Name != report.Zipf || first > m.group.Keys) {
		return 0, fmt.Errorf("%s of %d keys used %d different ones", t.Name, m.group.Keys, first)
	}
	for i, o := range m.opened {
		if o.Distinct[t.Name] != first {
			return 0, fmt.Errorf("%s used %d different keys and %s %d", m.processes[0].subject.Name,
				first, m.processes[i].subject.Name, o.Distinct[t.Name])
		}
	}
	return first, nil
}

func (m *measurement) close() error {
	var errs []error
	for _, p := range m.processes {
		errs = append(errs, p.close())
	}
	return errors.Join(errs...)
}

// flood floods one subject after the other: those without a bound take a lot of memory.
func (b *bench) flood() (*report.Flood, error) {
	f := &report.Flood{MaxKeys: b.plan.floodMaxKeys}
	for _, s := range b.subjects {
		keys := b.plan.floodOthers
		if s.Bounded {
			keys = b.plan.flood
		}
		fmt.Fprintf(b.progress, "requests: %d different keys: %s\n", keys, s.Name)
		p, err := b.start(s)
		if err != nil {
			return nil, err
		}
		var one report.FloodResult
		err = p.call("Flood", FloodArgs{keys, f.MaxKeys}, &one)
		if err := errors.Join(err, p.close()); err != nil {
			return nil, err
		}
		f.Results = append(f.Results, one)
	}
	return f, nil
}
