package config

import (
	"slices"
	"time"
)

const (
	// defaultPercentile leaves out the slowest answer of a hundred.
	defaultPercentile = 99
	// mostInFlight bounds the requests under way that a target may be.
	mostInFlight = 1e6

	scaleKernel = "kernel"
	scaleHTTP   = "http"
)

func defaultAdaptive() Adaptive {
	return Adaptive{Interval: time.Second, Floor: 0.1, Ceiling: 1, Increase: 0.05, Decrease: 0.7, Recover: 0.8}
}

func (w *whole) readAdaptive(v value) {
	m, ok := v.mapping(adaptiveFields())
	if !ok {
		return
	}
	a := defaultAdaptive()
	a.Observe = m.flag("observe")
	a.Interval = m.duration("interval", 100*time.Millisecond, time.Hour, a.Interval)
	a.readSignal(m)
	a.Floor = m.decimal("floor", 0.001, 1, a.Floor)
	a.Ceiling = m.decimal("ceiling", 1, 100, a.Ceiling)
	a.Increase = m.decimal("increase", 0.001, 1, a.Increase)
	a.Decrease = m.decimal("decrease", 0.1, 0.99, a.Decrease)
	a.Recover = m.decimal("recover", 0.1, 1, a.Recover)
	w.readScale(m, &a)
	w.Adaptive = &a
}

// readSignal reads which of the signals is looked at.
func (a *Adaptive) readSignal(m mapping) {
	var given []string
	for _, name := range []string{"latency", "errors", "in_flight"} {
		if m.has(name) {
			given = append(given, name)
		}
	}
	if m.has("latency") {
		a.Latency = m.field("latency").latency()
	}
	if m.has("errors") {
		a.Errors = m.field("errors").share(0.001, 1)
	}
	a.InFlight = int(m.count("in_flight", 1, mostInFlight, 0))
	switch len(given) {
	case 0:
		m.lack(m.value, "nothing to go by; add latency: {target: 200ms}, errors: 5% or in_flight: 100")
	case 1:
	default:
		m.field(given[1]).fail("%s is given too, and one signal moves the rates; remove one", given[0])
	}
}

func (v value) latency() Latency {
	m, ok := v.mapping(latencyFields())
	if !ok {
		return Latency{}
	}
	if !m.has("target") {
		m.lack(v, "no target; add target: 200ms")
	}
	return Latency{
		Percentile: m.decimal("percentile", 1, 100, defaultPercentile),
		Target:     m.duration("target", leastTime, time.Hour, 0),
	}
}

// readScale reads which rates are moved: by default those that there are.
func (w *whole) readScale(m mapping, a *Adaptive) {
	kernel := w.Kernel != nil && !w.Kernel.Default.IsZero()
	http := slices.ContainsFunc(w.HTTP.Zones, func(z Zone) bool { return z.Algorithm != Concurrent })
	v := m.field("scale")
	if !v.given() {
		a.Kernel, a.HTTP = kernel, http
		if !kernel && !http && w.right() {
			m.lack(m.value, "no rates to move; add zones with a rate under http, or kernel.default")
		}
		return
	}
	elements, _ := v.oneOrMore(scaleKernel + " or " + scaleHTTP)
	for _, e := range elements {
		text, ok := e.text()
		switch {
		case !ok:
		case text == scaleKernel && !a.Kernel:
			a.Kernel = true
			w.checkScaled(e, kernel, "the kernel has no default limit to move; add kernel.default, or remove kernel")
		case text == scaleHTTP && !a.HTTP:
			a.HTTP = true
			w.checkScaled(e, http, "there are no zones with a rate to move; add some under http, or remove http")
		case text == scaleKernel || text == scaleHTTP:
			e.fail("%s is there twice; remove one", text)
		default:
			e.fail("unknown rates %s", choices(text, []string{scaleKernel, scaleHTTP}))
		}
	}
}

// checkScaled adds an error unless there is what is to be scaled.
func (w *whole) checkScaled(at value, there bool, text string) {
	if !there && w.right() {
		at.fail("%s", text)
	}
}
