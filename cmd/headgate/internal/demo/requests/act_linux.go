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
	resting [2]bool    // which of them have stopped

	theory [2]*theory.Theory // of each client
	before part.Counted      // by the backend, at the start of the phase
	clock  time.Duration     // the agent's CPU time when it was read last
	ends   int64             // when the first block is over for sure, in ns of the boot clock
	sums   sums
	blocks []event.Event // the hand-downs

	summary Summary
}

// sums are over all clients and phases.
type sums struct{ passed, refused, cut, knocks, wrong uint64 }

// Play plays the act on a stage that is empty, and shows it live. program is what runs headgate, and second how long a second
// of the script takes. It needs root. Numbers that are off are no error; the summary says so.
func Play(ctx context.Context, on *stage.Stage, live *stage.Live, program string, second time.Duration) (Summary, error) {
	a := &act{script: newScript(second), stage: on, live: live, program: program}
	if err := a.live.Introduce(intro()); err != nil {
		return Summary{}, err
	}
	for _, do := range []func(context.Context) error{a.makeAll, a.limited, a.handedDown, a.again, a.account} {
		if err := do(ctx); err != nil {
			return Summary{}, err
		}
	}
	return a.summary, nil
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

// limited has one client be refused, by the agent alone.
func (a *act) limited(ctx context.Context) error {
	p := limited()
	if err := a.live.Begin(p.title); err != nil {
		return err
	}
	text := file(a.socket())
	if err := a.live.Command("cat "+configuration, []byte(text)); err != nil {
		return err
	}
	if err := a.live.Command("headgate run -c "+configuration, nil); err != nil {
		return err
	}
	if err := a.configure(text); err != nil {
		return err
	}
	if err := a.startAgent(ctx); err != nil {
		return err
	}
	records, err := a.records()
	if err != nil {
		return err
	}
	before, err := a.costs()
	if err != nil {
		return err
	}
	if err := a.perform(ctx, records, stage.BootTime()+a.floods.Nanoseconds()); err != nil {
		return err
	}
	if err := a.charge("a request refused by the agent", records[flooder].refused, before); err != nil {
		return err
	}
	return a.conclude(ctx, p, records)
}

// handedDown has the file say that offenders are handed down, and one be.
func (a *act) handedDown(ctx context.Context) error {
	p := handedDown()
	if err := a.live.Begin(p.title); err != nil {
		return err
	}
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
	flood := b.records[flooder]
	knocks := flood.knocks
	before, err := a.costs()
	if err != nil {
		return err
	}
	a.ends = b.event.at + a.block.Nanoseconds() + margin.Nanoseconds()
	if err := a.finish(ctx, b.records, flood.offended+(a.block-margin).Nanoseconds()); err != nil {
		return err
	}
	if err := a.charge("a packet dropped by the kernel", flood.knocks-knocks, before); err != nil {
		return err
	}
	a.dropTime(flood, first.at)
	return a.concludeBlock(ctx, p, b)
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
func (a *act) again(ctx context.Context) error {
	p := again()
	if err := a.live.Begin(p.title); err != nil {
		return err
	}
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
	log     []byte // the agent's line
}

// flood has the clients play until one of them is handed down. They still do when it returns.
func (a *act) flood(ctx context.Context) (b blocked, err error) {
	handed, err := a.follow(ctx, event.HandedDown)
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
