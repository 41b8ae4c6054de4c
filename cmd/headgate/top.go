package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
)

const (
	defaultTopLimit = 20
	defaultInterval = time.Second
	leastInterval   = 100 * time.Millisecond
)

type topFlags struct {
	once     bool
	by       string
	limit    int
	interval time.Duration

	limitGiven, intervalGiven bool
}

func newTopCmd(e *env, g *global) *cobra.Command {
	f := &topFlags{}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show the sources that lose or pass most",
		Long: `top shows the sources with the greatest losses, or with --by passed those that pass most. On a
terminal it shows live what happens now, with rates per second; q ends it. Elsewhere, with --once
and with -o json it prints one picture of totals, and rates too where --interval is given: then it
measures that long. What dry run would have dropped counts as a loss, and is part of what passed.`,
		Example: `  headgate top
  headgate top --by passed -n 5
  headgate top --once -o json
  headgate top --once --interval 2s`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.limitGiven = cmd.Flags().Changed("limit")
			f.intervalGiven = cmd.Flags().Changed("interval")
			if err := f.validate(); err != nil {
				return err
			}
			return e.reading(g, func(i *loader.Instance) error {
				t := &top{env: e, flags: f, sample: func() (sample, error) {
					if i.Replaced() {
						return sample{}, errReplaced
					}
					return takeSample(i, e.clock())
				}}
				ctx, stop := interruptible(cmd.Context())
				defer stop()
				return t.run(ctx, g)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.once, "once", false, "print one picture and end")
	flags.StringVar(&f.by, "by", byDropped, "what comes first: dropped or passed")
	flags.IntVarP(&f.limit, "limit", "n", defaultTopLimit, "show so many sources, 0 for all; on a terminal what fits")
	flags.DurationVar(&f.interval, "interval", defaultInterval, "time between two pictures, and for --once between two samples")
	placeholders(cmd, map[string]string{"by": "ORDER", "limit": "NUMBER", "interval": "TIME"})
	return cmd
}

func (f *topFlags) validate() error {
	switch {
	case f.by != byDropped && f.by != byPassed:
		return usagef("order %q: use dropped or passed", f.by)
	case f.limit < 0:
		return usagef("limit %d: use 1 or more, or 0 for all", f.limit)
	case f.interval < leastInterval:
		return usagef("interval %s: use %s or more", render.Duration(f.interval), render.Duration(leastInterval))
	}
	return nil
}

// top shows samples.
type top struct {
	*env
	flags  *topFlags
	sample func() (sample, error)
}

func (t *top) run(ctx context.Context, g *global) error {
	format, err := g.format()
	if err != nil {
		return err
	}
	_, _, terminal := t.terminal(t.stdout)
	if format == render.JSON || t.flags.once || !terminal || t.getenv("TERM") == "dumb" {
		view, err := t.once(ctx)
		if err != nil {
			return err
		}
		return t.print(g, view)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	keys, restore := readKeys(ctx, t.stdin)
	defer restore()
	return t.live(ctx, keys)
}

// once takes one sample, or two where there are rates to be measured.
func (t *top) once(ctx context.Context) (render.Top, error) {
	now, err := t.sample()
	if err != nil || !t.flags.intervalGiven {
		return now.top(nil, t.flags.by, t.flags.limit), err
	}
	before := now
	select {
	case <-ctx.Done():
	case <-time.After(t.flags.interval):
	}
	if now, err = t.sample(); err != nil {
		return nil, err
	}
	return now.top(&before, t.flags.by, t.flags.limit), nil
}

// live draws a picture at each interval until ctx ends or q is pressed.
func (t *top) live(ctx context.Context, keys <-chan byte) (err error) {
	s := screen{w: t.stdout}
	if err := s.enter(); err != nil {
		return err
	}
	defer func() {
		if left := s.leave(); err == nil {
			err = left
		}
	}()
	ticker := time.NewTicker(t.flags.interval)
	defer ticker.Stop()

	var before *sample
	for {
		now, err := t.sample()
		if err != nil {
			return err
		}
		if err := t.draw(s, &now, before); err != nil {
			return err
		}
		before = &now
		if !wait(ctx, ticker.C, keys) {
			return nil
		}
	}
}

func (t *top) draw(s screen, now, before *sample) error {
	width, height, ok := t.terminal(t.stdout)
	if !ok || width == 0 || height == 0 {
		width, height = 80, 24 // it does not say, or is gone, which the next write will tell
	}
	limit := max(1, height-render.TopScreenLines)
	if t.flags.limitGiven {
		limit = t.flags.limit
	}
	return s.draw(render.TopScreen{
		Time:     now.at.wall,
		Interval: t.flags.interval,
		Tracked:  len(now.sources),
		Capacity: now.capacity,
		Total:    now.totalRates(before),
		DryRun:   now.config.DryRun,
		Sources:  now.top(before, t.flags.by, limit),
		Width:    width,
	}, width, height)
}

// wait returns true at the next tick, and false where there is to be no other picture.
func wait(ctx context.Context, tick <-chan time.Time, keys <-chan byte) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick:
			return true
		case key, open := <-keys:
			if !open {
				keys = nil
			}
			if slices.Contains([]byte("qQ"), key) {
				return false
			}
		}
	}
}
