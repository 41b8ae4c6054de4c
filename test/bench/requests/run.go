package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

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

// measure measures a group: each subject in a process, all of them in turn, and all that several times:
// where the memory of a process happens to lie makes a difference that does not go away in it.
func (b *bench) measure(g Group) ([]report.Row, error) {
	subjects := g.subjects(b.subjects)
	n := len(g.traffic())
	m := &measurement{group: g, samples: make([]map[string]*report.RequestSample, n), counts: make([]int, n)}
	for i := range m.samples {
		m.samples[i] = make(map[string]*report.RequestSample)
	}
	for i := range b.plan.processes {
		first := i * len(subjects) / b.plan.processes
		turned := append(slices.Clone(subjects[first:]), subjects[:first]...)
		rounds := g.rounds()
		if err := b.measureIn(m, turned, i*rounds/b.plan.processes, (i+1)*rounds/b.plan.processes); err != nil {
			return nil, err
		}
	}
	return m.rows(subjects), nil
}

// measureIn does so in processes of their own, from one round to before another.
func (b *bench) measureIn(m *measurement, subjects []limiters.Subject, from, to int) (err error) {
	m.processes, m.opened = nil, nil
	defer func() { err = errors.Join(err, m.close()) }()
	for _, s := range subjects {
		p, err := b.start(s)
		if err != nil {
			return err
		}
		m.processes = append(m.processes, p)
		var o Opened
		if err := p.call("Open", m.group, &o); err != nil {
			return err
		}
		m.opened = append(m.opened, o)
	}
	for i, t := range m.group.traffic() {
		if m.counts[i], err = m.distinct(t); err != nil {
			return err
		}
	}
	for round := from; round < to; round++ {
		for i, t := range m.group.traffic() {
			if err := m.sample(SampleArgs{t, round}, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// measurement is one of a group.
type measurement struct {
	group     Group
	processes []*process
	opened    []Opened
	samples   []map[string]*report.RequestSample // of each traffic, by subject
	counts    []int                              // different keys of each traffic
}

// rows returns what was measured, subjects in their order.
func (m *measurement) rows(subjects []limiters.Subject) []report.Row {
	var rows []report.Row
	for i, t := range m.group.traffic() {
		var samples []report.RequestSample
		for _, s := range subjects {
			samples = append(samples, *m.samples[i][s.Name])
		}
		rows = append(rows, report.Row{
			Keys: m.group.Keys, Path: m.group.Path, Traffic: t.Name, CPUs: t.CPUs, Distinct: m.counts[i],
			Results: report.Results(limiters.Reference, samples),
		})
	}
	return rows
}

// sample measures all subjects once with traffic i, one after the other. Each round begins with another.
func (m *measurement) sample(a SampleArgs, i int) error {
	for k := range m.processes {
		at := (k + a.Round) % len(m.processes)
		p := m.processes[at]
		var got Sample
		if err := p.call("Sample", a, &got); err != nil {
			return err
		}
		s := m.sampleOf(i, at)
		s.NS = append(s.NS, got.NS)
		s.Allocs = max(s.Allocs, got.Allocs)
	}
	return nil
}

// sampleOf returns what was measured of a process's subject with traffic i.
func (m *measurement) sampleOf(i, at int) *report.RequestSample {
	subject := m.processes[at].subject
	s := m.samples[i][subject.Name]
	if s == nil {
		s = &report.RequestSample{Subject: subject.Name, Ours: subject.Ours}
		m.samples[i][subject.Name] = s
	}
	if m.group.Keys > 1 && m.group.known() > 0 {
		s.Bytes = &m.opened[at].BytesPerKey
	}
	return s
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
