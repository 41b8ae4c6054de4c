package agent

import (
	"errors"
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

func (m membership) follows() bool { return m.kernel && m.config.Follow }

// settleFleet makes this machine the member of the fleet that the file wants, in place of the one that it was.
func (a *Agent) settleFleet(before *sharing, file *config.File) {
	s := &a.state
	if s.sharing == nil {
		s.belonging.end()
		a.fleet.Store(nil)
		s.member = membership{kernel: file.Kernel != nil}
		a.forgetFleet()
		return
	}
	m := membership{kernel: file.Kernel != nil}
	if file.Fleet != nil {
		m.config = *file.Fleet
	}
	if f := a.fleet.Load(); f != nil && s.sharing == before && s.member == m {
		f.AskAgain() // the file may protect others
		return
	}
	s.member = m
	f := a.newMember(m)
	a.fleet.Store(f)
	s.belonging.begin(s.ctx, a.do, f.Run)
	a.forgetFleet()
}

// forgetFleet has the kernel forget the rules of a fleet that is not followed, or not any more: nobody would end them.
func (a *Agent) forgetFleet() {
	s := &a.state
	if s.member.follows() || !s.member.kernel {
		s.unfleeted.Store(false)
		return
	}
	if s.unfleeted.Swap(true) {
		return
	}
	f, kernel := a.fleet.Load(), s.kernel
	a.do(func() {
		a.placing.Lock()
		defer a.placing.Unlock()
		if a.fleet.Load() != f {
			return // the file is another one already
		}
		if err := kernel.SetFleet(nil); err != nil {
			a.state.unfleeted.Store(false)
			a.log.Error("rules of a fleet that is not followed stay in the kernel until the next reload", "error", err)
		}
	})
}

// place is the kernel's limiter as a member has it. Who is not the member any more, and may be about to tell it something,
// changes nothing in it.
type place struct {
	Kernel
	agent  *Agent
	member *fleet.Fleet // set before it runs
}

var errLeft = errors.New("this machine is another member of the fleet by now")

// SetFleet implements fleet.Kernel.
func (p *place) SetFleet(rules []fleet.Rule) error {
	return p.still(func() error { return p.Kernel.SetFleet(rules) })
}

// Lift implements fleet.Kernel.
func (p *place) Lift(prefixes []netip.Prefix) error {
	return p.still(func() error { return p.Kernel.Lift(prefixes) })
}

func (p *place) still(change func() error) error {
	p.agent.placing.Lock()
	defer p.agent.placing.Unlock()
	if p.agent.fleet.Load() != p.member {
		return errLeft
	}
	return change()
}

// newMember returns a member that nobody knows yet.
func (a *Agent) newMember(m membership) (f *fleet.Fleet) {
	s := &a.state
	at, conn := &place{Kernel: s.kernel, agent: a}, s.sharing.conn
	o := fleet.Options{
		Conn: conn, Redis: s.sharing.redis, Config: m.config, Version: a.options.Version,
		Spare: func(p netip.Prefix) string { return a.spare(p, conn) }, Log: a.log, Publish: a.bus.Publish,
		Resized: func(int) { a.do(func() { a.resize(f) }) },
	}
	if before := a.fleet.Load(); before != nil {
		o.Members = before.Members()
	}
	if m.kernel {
		o.Kernel, o.Kept = at, s.kernel.FleetRules
	}
	f = fleet.New(o)
	at.member = f
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
	file, proxy := a.state.file, a.state.proxy
	a.mu.RUnlock()
	switch {
	case slices.ContainsFunc(trusted(file), p.Overlaps):
		return "a trusted proxy is in it, whose packets are those of its clients"
	case redis.Reaches(p):
		return "a server of redis is in it"
	case proxy != nil && proxy.Reaches(p):
		return "a server of the upstream is in it"
	case p.IsSingleIP() && a.local.is(p.Addr()): // a network of its own may be blocked, as by hand
		return "it is an address of this machine"
	}
	return ""
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
