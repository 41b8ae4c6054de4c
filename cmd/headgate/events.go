package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/maps/eventmap"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/ipproto"
)

type eventFlags struct {
	count   int
	lasts   time.Duration
	backlog bool
	kinds   []string // of an agent's events
	agent   agentFlags
}

func newEventsCmd(e *env, g *global) *cobra.Command {
	f := &eventFlags{}
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Show a sample of the packets that are dropped, as it happens",
		Long: `events shows packets that are dropped, or that dry run would drop, until it is interrupted. The
kernel samples: each CPU tells of one packet at most every 10ms, and SUPPRESSED is how many it
has dropped since without a word. One process at a time can read them.

The kernel keeps events that nobody reads, until its buffer of them is full. They are left out, unless
--backlog asks for them.

While headgate run is at work, it is the one that reads them, and events shows what it tells: packets,
and also requests that were refused, sources that were handed down, and changes of rates, servers
and the file. --socket or --kind asks it at once. The kinds are:
` + filled(admin.EventKinds()) + `.

With -o json each line is a JSON object of its own (JSON Lines). One of a packet has the same fields,
whoever tells it; those of the agent have kind too, and others than dropped have other fields.`,
		Example: `  headgate events
  headgate events --count 10
  headgate events --for 1m -o json
  headgate events --kind handdown,refused`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.validate(cmd); err != nil {
				return err
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			ofAnother := f.backlog || changed(cmd, []string{"pin"}) != "" // than the agent has, or tells
			if changed(cmd, []string{"socket", "kind"}) != "" || !ofAnother && e.agentLimits(ctx) {
				return e.agentEvents(ctx, g, f)
			}
			err := e.reading(g, func(i *loader.Instance) error { return e.events(ctx, g, f, i) })
			return e.orAgentEvents(ctx, g, f, err)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.count, "count", 0, "end after so many events")
	flags.DurationVar(&f.lasts, "for", 0, "end after this time, as 30s or 5m")
	flags.BoolVar(&f.backlog, "backlog", false, "show first what the kernel has kept from before")
	flags.StringSliceVar(&f.kinds, "kind", nil, "of an agent's events only those of this kind, as handdown; may be given again")
	placeholders(cmd, map[string]string{"count": "NUMBER", "for": "TIME", "kind": "KIND"})
	completeFlag(cmd, "kind", listOf(admin.EventKinds()...))
	f.agent.register(cmd, e)
	return cmd
}

func (f *eventFlags) validate(cmd *cobra.Command) error {
	switch flags := cmd.Flags(); {
	case flags.Changed("count") && f.count < 1:
		return usagef("count %d: use 1 or more", f.count)
	case flags.Changed("for") && f.lasts <= 0:
		return usagef("--for %s: use a time such as 30s or 5m", render.Duration(f.lasts))
	}
	return checkKinds(f.kinds)
}

func (e *env) events(ctx context.Context, g *global, f *eventFlags, i *loader.Instance) error {
	format, err := g.format()
	if err != nil {
		return err
	}
	start := e.bootTime()
	names, err := newEventNames(i.Policies(), e.bootTime)
	if err != nil {
		return err
	}
	reader, err := i.Events()
	if errors.Is(err, loader.ErrLocked) {
		return fmt.Errorf("%w; wait until that `headgate events` has ended, or end it", err)
	}
	if err != nil {
		return err
	}
	if format == render.Table {
		e.notice("note: no agent reads these, so they are dropped packets alone, as the kernel tells of them")
	}
	if f.lasts > 0 {
		reader.SetDeadline(time.Now().Add(f.lasts))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go endWithInstance(ctx, i, cancel)
	out := render.NewEvents(e.stdout, format)
	if f.backlog {
		start = 0
	}
	err = follow(ctx, freshReader{reader, start}, f.count, eventPrinter{
		begin: out.Begin,
		write: func(event eventmap.Event) error { return out.Write(names.view(event, e.clock())) },
	})
	if cause := context.Cause(ctx); errors.Is(cause, errReplaced) {
		return cause
	}
	return err
}

// errReplaced ends what shows an instance that is not there any more.
var errReplaced = errors.New("the instance was removed; start again to see a new one")

const replacedInterval = time.Second

// endWithInstance cancels with errReplaced when the instance is gone, until ctx ends.
func endWithInstance(ctx context.Context, i *loader.Instance, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(replacedInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if i.Replaced() {
				cancel(errReplaced)
				return
			}
		}
	}
}

// eventReader is where events come from. Close ends a Next that waits.
type eventReader interface {
	Next() (eventmap.Event, error)
	Close() error
}

// freshReader leaves out events from before a time of the boot clock.
type freshReader struct {
	eventReader
	since uint64
}

func (r freshReader) Next() (eventmap.Event, error) {
	for {
		event, err := r.eventReader.Next()
		if err != nil || event.Time >= r.since {
			return event, err
		}
	}
}

// eventPrinter is where they go.
type eventPrinter struct {
	begin func() error
	write func(eventmap.Event) error
}

// follow prints events until there were count of them, if that is not 0, until the reader's time
// is over, or until ctx ends. It closes the reader.
func follow(ctx context.Context, reader eventReader, count int, out eventPrinter) (err error) {
	closeOnce := sync.OnceValue(reader.Close)
	defer func() { err = errors.Join(err, closeOnce()) }()
	stop := context.AfterFunc(ctx, func() { _ = closeOnce() })
	defer stop()

	if err := out.begin(); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	for n := 0; count == 0 || n < count; n++ {
		event, err := reader.Next()
		interrupted := errors.Is(err, eventmap.ErrClosed) && ctx.Err() != nil
		if interrupted || errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := out.write(event); err != nil {
			return fmt.Errorf("write the output: %w", err)
		}
	}
	return nil
}

// configs are what there is in force at a time of the boot clock.
type configs interface {
	InForce(now uint64) (policymap.Config, error)
}

// eventNames finds the names for the numbers in events.
type eventNames struct {
	configs    configs
	now        func() uint64
	config     policymap.Config
	interfaces eventmap.InterfaceNames
}

func newEventNames(m configs, now func() uint64) (*eventNames, error) {
	config, err := m.InForce(now())
	return &eventNames{configs: m, now: now, config: config, interfaces: make(eventmap.InterfaceNames)}, err
}

func (n *eventNames) view(event eventmap.Event, now clock) render.Event {
	protocol := ""
	if event.Source.IsValid() { // of a malformed packet nothing is known
		protocol = ipproto.Name(event.Proto)
	}
	return render.Event{
		Time:       now.at(event.Time),
		Source:     event.Source,
		SourcePort: event.SourcePort,
		DestPort:   event.DestPort,
		Protocol:   protocol,
		Length:     event.Length,
		Verdict:    statmap.VerdictName(event.Verdict),
		Reason:     statmap.ReasonName(event.Reason),
		Policy:     n.policy(event.PolicyID),
		Interface:  n.interfaces.Name(event.Ifindex),
		Suppressed: event.Suppressed,
	}
}

// policy reads the configuration again where a policy is not in the one it knows.
func (n *eventNames) policy(id uint16) string {
	if id != 0 && n.config.PolicyName(id) == "" {
		if config, err := n.configs.InForce(n.now()); err == nil {
			n.config = config
		}
	}
	return n.config.PolicyLabel(id)
}

// filled joins words with commas, in lines of at most 100 characters.
func filled(words []string) string {
	text, line := words[0], len(words[0])
	for _, w := range words[1:] {
		separator := ", "
		if line+len(separator+w+",") > 100 {
			separator, line = ",\n", 0
		}
		text += separator + w
		line += len(separator + w)
	}
	return text
}
