package requests

import (
	"context"
	"fmt"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/demo/part"
	"github.com/headgate/headgate/cmd/headgate/internal/demo/stage"
	"github.com/headgate/headgate/cmd/headgate/internal/demo/theory"
	"github.com/headgate/headgate/test/netlab"
	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/event"
)

// margin is how long before the end of a block nobody knocks any more, so that it does not depend on a process that
// is punctual whether one of them enters.
const margin = 100 * time.Millisecond

// act is the second act while it is played.
type act struct {
	script
	stage   *stage.Stage
	live    *stage.Live
	program string

	pair    *netlab.Pair
	backend *process
	agent   *process
	admin   *admin.Client
	clients []*process // as the cast
	playing [2]bool    // which of them do

	theory [2]*theory.Theory // of each client
	before part.Counted      // by the backend, at the start of the phase
	visit  time.Duration     // what the agent spends on a visit, while nobody floods
	clock  time.Duration     // the agent's CPU time when it was read last
	ends   int64             // when the first block is over for sure, in ns of the boot clock
	sums   sums
	wrong  []string      // about answers
	blocks []event.Event // the hand-downs

	summary Summary
}

// sums are over all clients and phases.
type sums struct{ passed, refused, cut, knocks uint64 }

// Play plays the act on a stage that is empty, and shows it live. program is what runs headgate, and second how long a second
// of the script takes. It needs root. Numbers that are off are no error; the summary says so.
func Play(ctx context.Context, on *stage.Stage, live *stage.Live, program string, second time.Duration) (Summary, error) {
	a := &act{script: newScript(second), stage: on, live: live, program: program}
	if err := a.live.Introduce(intro()); err != nil {
		return Summary{}, err
	}
	if err := a.makeAll(ctx); err != nil {
		return Summary{}, err
	}
	for _, p := range []struct {
		phase
		play func(context.Context, phase) error
	}{{alone(), a.alone}, {limited(), a.limited}, {handedDown(), a.handedDown}, {again(), a.again}} {
		if err := a.live.Begin(p.title); err != nil {
			return Summary{}, err
		}
		if err := p.play(ctx, p.phase); err != nil {
			return Summary{}, fmt.Errorf("phase %q: %w", p.short, err)
		}
	}
	err := a.account(ctx)
	return a.summary, err
}

// makeAll makes the namespaces, and has all enter but the agent.
func (a *act) makeAll(ctx context.Context) (err error) {
	a.pair, err = a.stage.Pair(netlab.PairOptions{
		NearName: "demo0", FarName: Interface, NearAddrs: near(), FarAddrs: far(),
	})
	if err != nil {
		return err
	}
	return a.enterAll(ctx)
}

// alone has only the modest client play.
func (a *act) alone(ctx context.Context, p phase) error {
	if err := a.startAgent(ctx); err != nil {
		return err
	}
	records, err := a.records()
	if err != nil {
		return err
	}
	spent, err := a.perform(ctx, records, a.script.alone, visitor)
	if err != nil {
		return err
	}
	a.visit = spent.agent / time.Duration(max(1, records[visitor].passed))
	a.summary.Visit = a.visit.Seconds()
	return a.conclude(ctx, p, records)
}

// limited has one client be refused, by the agent alone.
func (a *act) limited(ctx context.Context, p phase) error {
	records, err := a.records()
	if err != nil {
		return err
	}
	spent, err := a.perform(ctx, records, a.floods, flooder, visitor)
	if err != nil {
		return err
	}
	a.charge("a request refused by the agent", records[flooder].refused, a.beside(spent, records[visitor].passed))
	return a.conclude(ctx, p, records)
}

// handedDown has the file say that offenders are handed down, and one be.
func (a *act) handedDown(ctx context.Context, p phase) error {
	if err := a.addHandDown(ctx); err != nil {
		return err
	}
	dropped, err := a.follow(ctx, event.Dropped)
	if err != nil {
		return err
	}
	b, err := a.flood(ctx)
	if err != nil {
		return err
	}
	first, err := await(ctx, dropped, event.Dropped)
	if err != nil {
		return err
	}
	a.ends = b.event.at + a.block.Nanoseconds() + margin.Nanoseconds()
	if err := a.besiege(ctx, b.records, b.records[flooder].offended+(a.block-margin).Nanoseconds()); err != nil {
		return err
	}
	a.dropTime(b.records[flooder], first.at)
	return a.concludeBlock(ctx, p, b)
}

// besiege has the clients go on until a time, and notes what dropping has cost meanwhile.
func (a *act) besiege(ctx context.Context, records []*record, until int64) error {
	knocks, visits := records[flooder].knocks, records[visitor].passed
	before, err := a.costs()
	if err != nil {
		return err
	}
	if err := a.finish(ctx, records, until); err != nil {
		return err
	}
	after, err := a.costs()
	a.charge("a packet dropped by the kernel", records[flooder].knocks-knocks,
		a.beside(after.since(before), records[visitor].passed-visits))
	return err
}

// addHandDown changes the file, and has the agent read it.
func (a *act) addHandDown(ctx context.Context) error {
	section := a.handDown()
	if err := a.live.Command(fmt.Sprintf("echo '%s' >> %s", section, configuration), nil); err != nil {
		return err
	}
	if err := a.configure(file(a.socket()) + section + "\n"); err != nil {
		return err
	}
	out, err := a.run(ctx, "reload")
	if err != nil {
		return err
	}
	return a.live.Command("headgate reload", out)
}

// again has the offender come back when the block is over, and be handed down a second time.
func (a *act) again(ctx context.Context, p phase) error {
	if err := stage.SleepUntil(ctx, a.ends); err != nil {
		return err
	}
	b, err := a.flood(ctx)
	if err != nil {
		return err
	}
	if err := a.finish(ctx, b.records, stage.BootTime()+a.script.again.Nanoseconds()); err != nil {
		return err
	}
	return a.concludeBlock(ctx, p, b)
}

// blocked is a flood that was stopped by a rule.
type blocked struct {
	records []*record
	event   told
	rules   []byte // what `headgate rules` printed
	shown   []byte // what `headgate events` did
	log     []byte // the agent's line
}

// flood has the clients play until one of them is handed down. They still do when it returns.
func (a *act) flood(ctx context.Context) (b blocked, err error) {
	handed, err := a.follow(ctx, event.HandedDown)
	if err != nil {
		return b, err
	}
	events, err := a.startEvents(ctx)
	if err != nil {
		return b, err
	}
	if b.records, err = a.records(); err != nil {
		return b, err
	}
	if err := a.performUntilCut(ctx, b.records); err != nil {
		return b, err
	}
	if b.event, err = await(ctx, handed, event.HandedDown); err != nil {
		return b, err
	}
	if b.rules, err = a.run(ctx, "rules"); err != nil {
		return b, err
	}
	a.blocks = append(a.blocks, b.event.Event)
	if b.shown, err = events(); err != nil {
		return b, err
	}
	b.log, err = a.logged(ctx, fmt.Sprintf("strike=%d", len(a.blocks)))
	return b, err
}

// records begins a phase.
func (a *act) records() (all []*record, err error) {
	p, err := params()
	if err != nil {
		return nil, err
	}
	for n, m := range cast() {
		if a.theory[n] == nil {
			a.theory[n] = theory.New(p, stage.BootTime())
		}
		a.theory[n].Change(p)
		all = append(all, &record{member: m, theory: a.theory[n]})
	}
	return all, nil
}
