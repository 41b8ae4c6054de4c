package config

const (
	defaultPublished  = 60
	mostPublished     = 100_000
	defaultFleetRules = 100_000
	mostFleetRules    = 1_000_000
)

// readFleet reads what kernels tell each other of. What this machine hands down it tells of by default.
func (w *whole) readFleet(v value) {
	m, ok := v.mapping(fleetFields())
	if !ok {
		return
	}
	w.Fleet = &Fleet{
		HandDown:     w.says("handdown"),
		Follow:       true,
		MaxPublished: int(m.count("max_published", 1, mostPublished, defaultPublished)),
		MaxRules:     int(m.count("max_rules", 1, mostFleetRules, defaultFleetRules)),
	}
	if m.has("handdown") {
		w.Fleet.HandDown = m.flag("handdown")
	}
	if m.has("follow") {
		w.Fleet.Follow = m.flag("follow")
	}
}

// checkFleet looks for what the fleet needs of other sections.
func (w *whole) checkFleet() {
	if !w.says("fleet") || w.Fleet == nil {
		return
	}
	m, at := w.root, w.root.field("fleet")
	if !w.says("redis") {
		m.lack(at, `no store by which machines know of each other; add redis: {addrs: ["127.0.0.1:6379"]}, or remove fleet`)
		return
	}
	if w.Fleet.Follow && !w.says("kernel") {
		m.lack(at, "the kernel's limiter is not in use, and nobody else can drop packets; add kernel: {interfaces: [eth0]}, or follow: false")
	}
	if w.Fleet.HandDown && !w.says("handdown") {
		m.lack(at, "nothing is handed down that could be published; add handdown: {after: 20, within: 10s}, or remove handdown: true")
	}
}

// checkFleetRules warns of more rules than the kernel has room for.
func (w *whole) checkFleetRules() {
	if w.Fleet == nil || w.Kernel == nil || !w.Fleet.Follow {
		return
	}
	if n := w.Kernel.MaxRules; n != 0 && w.Fleet.MaxRules > int(n) {
		w.root.field("fleet").warn("max_rules of %d is more than the %d that the kernel has room for; use less, or a larger kernel.max_rules", w.Fleet.MaxRules, n)
	}
}
