package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/event"
)

// checkKinds finds a kind that there is not.
func checkKinds(kinds []string) error {
	for _, k := range kinds {
		if !slices.Contains(admin.EventKinds(), k) {
			return usagef("kind %.40q: use %s", k, strings.Join(admin.EventKinds(), ", "))
		}
	}
	return nil
}

// readByAgent reports whether an error of reading events from the kernel is one where an agent may have them.
func readByAgent(err error) bool {
	return errors.Is(err, loader.ErrLocked) || errors.Is(err, loader.ErrNotLoaded)
}

// orAgentEvents shows the agent's events where those of the kernel cannot be read, because it reads them or there
// are none. Without an agent it returns why they cannot.
func (e *env) orAgentEvents(ctx context.Context, g *global, f *eventFlags, kernel error) error {
	if !readByAgent(kernel) || f.backlog {
		return kernel
	}
	err := e.agentEvents(ctx, g, f)
	if errors.Is(err, admin.ErrNoAgent) {
		return kernel
	}
	return err
}

// agentEvents shows what the agent tells.
func (e *env) agentEvents(ctx context.Context, g *global, f *eventFlags) error {
	if f.backlog {
		return usagef("--backlog is of the kernel, and an agent keeps no events; leave it out")
	}
	format, err := g.format()
	if err != nil {
		return err
	}
	return f.agent.ask(g, func(c *admin.Client) error {
		return showAgentEvents(ctx, c, f, render.NewAgentEvents(e.stdout, format))
	})
}

func showAgentEvents(ctx context.Context, c *admin.Client, f *eventFlags, out *render.AgentEvents) error {
	var kinds []event.Kind
	for _, k := range f.kinds {
		kinds = append(kinds, event.Kind(k))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.Events(ctx, kinds...)
	if err != nil {
		return err
	}
	defer stream.Close()
	if f.lasts > 0 {
		defer time.AfterFunc(f.lasts, cancel).Stop()
	}
	if err := out.Begin(); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	for n := 0; f.count == 0 || n < f.count; n++ {
		told, err := stream.Next()
		switch {
		case ctx.Err() != nil: // interrupted, or the time is over
			return nil
		case err != nil:
			return err
		}
		if err := out.Write(told); err != nil {
			return fmt.Errorf("write the output: %w", err)
		}
	}
	return nil
}
