package config

import "time"

const (
	// mostOffences and mostHandedDown bound what is remembered of offenders.
	mostOffences   = 1e6
	mostHandedDown = 1e6
	// leastIPv4Prefix and leastIPv6Prefix keep one offender from shutting out half of the world.
	leastIPv4Prefix = 8
	leastIPv6Prefix = 16
)

func defaultHandDown() HandDown {
	return HandDown{
		After: 20, Within: 10 * time.Second, Action: Block, For: time.Minute, Max: day, MaxRules: 100_000,
		IPv4Prefix: DefaultIPv4Prefix, IPv6Prefix: DefaultIPv6Prefix,
	}
}

func (w *whole) readHandDown(v value) {
	m, ok := v.mapping(handDownFields())
	if !ok {
		return
	}
	h := defaultHandDown()
	h.After = int(m.count("after", 1, mostOffences, uint64(h.After)))
	h.Within = m.duration("within", leastTime, day, h.Within)
	h.readAction(m)
	h.For = m.duration("for", time.Second, year, h.For)
	h.Max = m.duration("max", time.Second, year, max(h.Max, h.For))
	if h.Max < h.For {
		m.field("max").fail("%s is shorter than the %s of for; use at least that", formatDuration(h.Max), formatDuration(h.For))
	}
	w.readHandDownPrefixes(m, &h)
	if w.Kernel != nil && w.Kernel.MaxRules != 0 {
		h.MaxRules = min(h.MaxRules, int(w.Kernel.MaxRules))
	}
	h.MaxRules = int(m.count("max_rules", 1, mostHandedDown, uint64(h.MaxRules)))
	h.DryRun = m.flag("dry_run")
	h.Private = m.flag("private")
	if l := m.field("nginx_logs"); l.given() {
		h.NginxLogs = l.filePaths()
	}
	w.HandDown = &h
}

// readAction reads what becomes of an offender.
func (h *HandDown) readAction(m mapping) {
	h.Limit = m.limit()
	before := len(m.file.errors)
	h.Action = Action(m.choice("action", []string{string(Block), string(Limit)}, string(Block)))
	if h.Action == Limit {
		m.checkLimited()
		return
	}
	wrong := len(m.file.errors) > before
	for _, f := range limitFields() {
		if v := m.field(f.Path); v.given() && !wrong {
			v.fail("what is blocked has no limit; remove %s, or use action: limit", f.Path)
		}
	}
	h.Limit = KernelLimit{}
}

// readHandDownPrefixes reads how much of an address a rule is for. A limit is for whole sources.
func (w *whole) readHandDownPrefixes(m mapping, h *HandDown) {
	most4, most6 := DefaultIPv4Prefix, DefaultIPv6Prefix
	if h.Action == Limit && w.Kernel != nil {
		most4, most6 = min(most4, w.Kernel.IPv4Prefix), min(most6, w.Kernel.IPv6Prefix)
	}
	h.IPv4Prefix = int(m.count("ipv4_prefix", leastIPv4Prefix, 32, uint64(most4)))
	h.IPv6Prefix = int(m.count("ipv6_prefix", leastIPv6Prefix, 128, uint64(most6)))
	if h.Action != Limit || w.Kernel == nil || !w.right() {
		return
	}
	for _, c := range []struct {
		field             string
		bits, least, most int
	}{
		{"ipv4_prefix", h.IPv4Prefix, leastIPv4Prefix, w.Kernel.IPv4Prefix},
		{"ipv6_prefix", h.IPv6Prefix, leastIPv6Prefix, w.Kernel.IPv6Prefix},
	} {
		switch {
		case c.most < c.least:
			m.field(c.field).fail("the kernel's sources are /%d, and one offender's limit would be for all of one; use kernel.%s: %d or more, or action: block",
				c.most, c.field, c.least)
		case c.bits > c.most:
			m.field(c.field).fail("the kernel's sources are /%d, and a limit for a part of one is none; use %d, or action: block", c.most, c.most)
		}
	}
}

// filePaths returns a list of paths, each once.
func (v value) filePaths() []string {
	elements, ok := v.oneOrMore(fileForm)
	first := make(map[string]int)
	var paths []string
	for _, e := range elements {
		path, right := e.filePath()
		if !ok || !right {
			continue
		}
		if line, twice := first[path]; twice {
			e.fail("the same file as in line %d; remove one", line)
			continue
		}
		first[path] = e.node.Line
		paths = append(paths, path)
	}
	return paths
}
