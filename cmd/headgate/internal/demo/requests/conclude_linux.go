package requests

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
)

// conclude shows the numbers of a phase and checks them. Nobody sends anything meanwhile.
func (a *act) conclude(ctx context.Context, p phase, records []*record) error {
	if err := a.live.End(picture(records)); err != nil {
		return err
	}
	counted, err := a.counted(ctx)
	if err != nil {
		return err
	}
	for _, r := range records {
		name := r.addr.String()
		a.summary.Checks = append(a.summary.Checks, r.check(p.short, uint64(counted[name]-a.before[name])))
		a.sums.passed += r.passed
		a.sums.refused += r.refused
		a.sums.cut += r.cut
		a.sums.knocks += r.knocks
		a.wrong = append(a.wrong, r.wrong...)
	}
	a.before = counted
	return nil
}

// concludeBlock shows beside what headgate said of the block.
func (a *act) concludeBlock(ctx context.Context, p phase, b blocked) error {
	if err := a.conclude(ctx, p, b.records); err != nil {
		return err
	}
	if err := a.live.Command("headgate rules", b.rules); err != nil {
		return err
	}
	if err := a.live.Command("headgate "+strings.Join(eventsCommand(), " "), b.shown); err != nil {
		return err
	}
	return a.live.Text(append([]byte("The agent's log:\n"), b.log...))
}

// costs reads the CPU times.
func (a *act) costs() (costs, error) {
	c, err := readCosts(a.agent.cmd.Process.Pid)
	a.clock = c.agent
	return c, err
}

// beside returns what costs are without the agent's for visits, at what it spent on them while nobody floods.
func (a *act) beside(c costs, visits uint64) costs {
	return costs{max(0, c.agent-time.Duration(visits)*a.visit), c.softirq}
}

// charge notes what has cost so much, all times together.
func (a *act) charge(of string, times uint64, c costs) {
	a.summary.Costs = append(a.summary.Costs, Cost{of, times, c.agent.Seconds(), c.softirq.Seconds()})
}

// dropTime notes how long it took to the first dropped packet. It must have been dropped before the client knew.
func (a *act) dropTime(flood *record, first int64) {
	took, most := time.Duration(first-flood.offended), time.Duration(flood.cutSeen-flood.offended)
	a.summary.FirstDrop = took.Seconds()
	a.fact(Fact{
		"first dropped packet, after one refusal too many", millis(took.Seconds()), "up to " + millis(most.Seconds()),
		"the client, who noticed", 0 < took && took < most,
	})
}

func (a *act) fact(f Fact) { a.summary.Facts = append(a.summary.Facts, f) }

// account compares the sums with what others have counted, and ends the agent.
func (a *act) account(ctx context.Context) error {
	z, err := a.zone(ctx)
	if err != nil {
		return err
	}
	a.fact(same("requests that passed", a.sums.passed, z.Allowed, "the agent's zone"))
	a.fact(same("requests answered with 429", a.sums.refused, z.Refused, "the agent's zone"))
	a.fact(a.fieldsFact())
	a.blockFacts()
	if err := a.packetFacts(ctx); err != nil {
		return err
	}
	return a.endAgent()
}

// fieldsFact checks the header fields of all answers, and names the first that is wrong.
func (a *act) fieldsFact() Fact {
	by := "the limit"
	if len(a.wrong) > 0 {
		by = a.wrong[0]
	}
	return same("answers with a wrong RateLimit, RateLimit-Policy or Retry-After", uint64(len(a.wrong)), 0, by)
}

// blockFacts checks why the offender was handed down, and for how long.
func (a *act) blockFacts() {
	for n, e := range a.blocks {
		f := Fact{
			What:     fmt.Sprintf("hand-down %d", n+1),
			Measured: fmt.Sprintf("%s, for %v s", e.Reason, e.For),
			Expected: fmt.Sprintf("%d offences within %v, for %v s", offences, within, (a.block << n).Seconds()),
			By:       "the file, and twice as long each time",
		}
		f.OK = f.Measured == f.Expected
		a.fact(f)
	}
}

// packetFacts compares the kernel's limiter with the interface: what came and did not pass was dropped.
func (a *act) packetFacts(ctx context.Context) error {
	sent, s, err := a.settledStats(ctx)
	if err != nil {
		return err
	}
	dropped := s.Reasons["blocked"]
	a.fact(same("packets dropped as blocked", dropped, sent-s.Pass.Packets, "the interface, but for what passed"))
	a.fact(same("packets dropped at all", s.Drop.Packets, dropped, "blocked"))
	const least = 2 // a request is known not to have arrived when it was sent again
	others, want := dropped-a.sums.knocks, least*a.sums.cut
	a.fact(Fact{"of them, on connections that were open", count(others), count(want) + " or more", "the client, who was cut off", others >= want})
	return nil
}

// settledStats reads the kernel's counters, and how many packets the interface was sent, when no packet comes meanwhile: connections
// that were cut still end.
func (a *act) settledStats(ctx context.Context) (sent uint64, s render.Stats, err error) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if sent, err = a.sent(); err != nil {
			return 0, s, err
		}
		if s, err = a.stats(ctx); err != nil {
			return 0, s, err
		}
		after, err := a.sent()
		if err != nil || after == sent {
			return sent, s, err
		}
	}
	return 0, s, fmt.Errorf("packets still come %v after the clients have stopped", patience)
}

// sent returns how many packets the clients' interface has sent.
func (a *act) sent() (n uint64, err error) {
	err = a.pair.Near.Namespace.Do(func() error {
		link, err := netlink.LinkByName(a.pair.Near.Name)
		if err == nil {
			n = link.Attrs().Statistics.TxPackets
		}
		return err
	})
	return n, err
}

// endAgent ends the agent, and compares its CPU time with the kernel's account.
func (a *act) endAgent() error {
	a.admin.Close()
	if _, err := a.costs(); err != nil {
		return err
	}
	if err := a.agent.end(); err != nil {
		return fmt.Errorf("end the agent: %w: %s", err, &a.agent.log)
	}
	state := a.agent.cmd.ProcessState
	account := state.UserTime() + state.SystemTime()
	a.fact(Fact{
		"CPU time of the agent", millis(a.clock.Seconds()), "up to " + millis(account.Seconds()), "the kernel, at its end",
		a.clock <= account,
	})
	return nil
}

// far are the addresses of the server.
func far() []netip.Prefix { return []netip.Prefix{netip.PrefixFrom(proxy().Addr(), 24)} }
