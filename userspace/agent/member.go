package agent

import (
	"net/netip"
	"slices"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/fleet"
	"github.com/headgate/headgate/userspace/handdown"
	"github.com/headgate/headgate/userspace/redisconn"
)

// membership is what this machine is in the fleet for.
type membership struct {
	config config.Fleet
	kernel bool // rules of the fleet come into force here
}

// settleFleet makes this machine the member of the fleet that the file wants, in place of the one that it was.
func (a *Agent) settleFleet(before *sharing, file *config.File) {
	s := &a.state
	if s.sharing == nil {
		s.belonging.end()
		a.fleet.Store(nil)
		return
	}
	m := membership{kernel: file.Kernel != nil}
	if file.Fleet != nil {
		m.config = *file.Fleet
	}
	if a.fleet.Load() != nil && s.sharing == before && s.member == m {
		return
	}
	s.member = m
	f := a.newMember(m)
	a.fleet.Store(f)
	s.belonging.begin(s.ctx, a.do, f.Run)
}

// newMember returns a member that nobody knows yet.
func (a *Agent) newMember(m membership) (f *fleet.Fleet) {
	s := &a.state
	conn := s.sharing.conn
	o := fleet.Options{
		Conn: conn, Redis: s.sharing.redis, Config: m.config, Version: a.options.Version,
		Spare: func(p netip.Prefix) string { return a.spare(p, conn) }, Log: a.log, Publish: a.bus.Publish,
		Resized: func(int) { a.do(func() { a.resize(f) }) },
	}
	if m.kernel {
		o.Kernel, o.Kept = s.kernel, s.kernel.FleetRules
	}
	f = fleet.New(o)
	return f
}

// resize has the limits of this machine alone go by the number of machines that member f knows of.
func (a *Agent) resize(f *fleet.Fleet) {
	a.changing.Lock()
	defer a.changing.Unlock()
	if a.state.ctx.Err() != nil || a.fleet.Load() != f {
		return // the agent ends, or is another member
	}
	if err := a.state.rules.resize(a.machines(a.state.sharing)); err != nil {
		a.log.Error("the limits of this machine alone stay those for another number of machines", "error", err)
	}
}

// spare returns why a prefix must not be dropped, beside what the kernel's limiter knows; empty for no reason.
func (a *Agent) spare(p netip.Prefix, redis *redisconn.Conn) string {
	a.mu.RLock()
	file := a.state.file
	a.mu.RUnlock()
	switch {
	case slices.ContainsFunc(trusted(file), p.Overlaps):
		return "a trusted proxy is in it, whose packets are those of its clients"
	case file.Redis != nil && slices.ContainsFunc(file.Redis.Addrs, func(addr string) bool { return isIn(p, addr) }):
		return "a server of redis is in it"
	case redis.Reaches(p): // which the file has by its name, or a sentinel or node has told
		return "a server of redis is in it"
	case a.local.within(p):
		return "an address of this machine is in it"
	}
	return ""
}

// isIn reports whether the host of an address, HOST:PORT, is an IP address in p.
func isIn(p netip.Prefix, addr string) bool {
	at, err := netip.ParseAddrPort(addr)
	return err == nil && p.Contains(at.Addr().Unmap().WithZone(""))
}

// share publishes what this machine has handed down, if it is in a fleet.
func (a *Agent) share(rules []handdown.Rule) {
	f := a.fleet.Load()
	if f == nil {
		return
	}
	all := make([]fleet.Rule, len(rules))
	for i, r := range rules {
		all[i] = fleet.Rule{Prefix: r.Prefix, Action: r.Action, Limit: r.Limit, For: r.For}
	}
	f.Share(all)
}
