package requests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/demo/stage"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/event"
)

// configure writes the agent's file, in one step.
func (a *act) configure(text string) error {
	name := a.stage.File(configuration)
	if err := os.WriteFile(name+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// startAgent starts the agent, and waits until it serves.
func (a *act) startAgent(ctx context.Context) (err error) {
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
	if a.agent, err = a.start(a.pair.Far.Namespace, "run", "-c", configuration); err != nil {
		return err
	}
	if _, err := a.logged(ctx, "msg=listening front=proxy"); err != nil {
		return err
	}
	// The threads of this process do not see the file of the socket, but all see what the agent sees.
	socket := fmt.Sprintf("/proc/%d/root%s", a.agent.cmd.Process.Pid, a.socket())
	a.admin, err = admin.NewClient(socket, "")
	if err == nil {
		a.stage.Later(func() error { a.admin.Close(); return nil })
	}
	return err
}

// logged waits for a line of the agent's log.
func (a *act) logged(ctx context.Context, with string) ([]byte, error) {
	const lookEvery = 5 * time.Millisecond
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if line, ok := a.agent.log.line(with); ok {
			return line, nil
		}
		select {
		case _, ok := <-a.agent.lines:
			if !ok {
				return nil, a.agent.failed()
			}
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, fmt.Errorf("the agent's log has no line with %q within %v:\n%s", with, patience, &a.agent.log)
}

// run runs a command of headgate as an operator does, and returns what it prints.
func (a *act) run(ctx context.Context, args ...string) (out []byte, err error) {
	cmd := a.command(ctx, args...)
	err = a.pair.Far.Namespace.Do(func() error {
		out, err = cmd.Output()
		return err
	})
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("headgate %s: %w: %s", args[0], err, failed.Stderr)
	}
	return out, err
}

// stats are the counters of the kernel's limiter, of packets.
func (a *act) stats(ctx context.Context) (s render.Stats, err error) {
	out, err := a.run(ctx, "stats", "-o", "json")
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(out, &s)
}

// zone returns the agent's zone with its counters.
func (a *act) zone(ctx context.Context) (admin.Zone, error) {
	z, err := a.admin.Zone(ctx, zone)
	if err != nil {
		return z, fmt.Errorf("ask the agent about zone %s: %w", zone, err)
	}
	return z, nil
}

// told is an event, and when it was on the boot clock, in ns.
type told struct {
	event.Event
	at int64
}

// follow returns the first event of a kind that comes from now on. Asking for more would cost the agent what is
// measured.
func (a *act) follow(ctx context.Context, kind event.Kind) (<-chan told, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := a.admin.Events(ctx, kind)
	if err != nil {
		cancel()
		return nil, err
	}
	first, ended := make(chan told, 1), make(chan struct{})
	go func() {
		defer close(ended)
		defer stream.Close()
		if e, err := stream.Next(); err == nil {
			first <- told{e, stage.BootTime() - time.Since(e.Time).Nanoseconds()}
		}
	}()
	a.stage.Later(func() error { cancel(); <-ended; return nil })
	return first, nil
}

// await waits for an event that must come.
func await(ctx context.Context, events <-chan told, kind event.Kind) (told, error) {
	select {
	case e := <-events:
		return e, nil
	case <-time.After(patience):
		return told{}, fmt.Errorf("the agent tells nothing of kind %s within %v", kind, patience)
	case <-ctx.Done():
		return told{}, ctx.Err()
	}
}

// eventsCommand shows the next hand-down.
func eventsCommand() []string { return []string{"events", "--kind", "handdown", "--count", "1"} }

// startEvents starts headgate events, and waits until it shows what comes. output returns what it printed when it has
// shown that.
func (a *act) startEvents(ctx context.Context) (output func() ([]byte, error), err error) {
	p, err := a.start(a.pair.Far.Namespace, eventsCommand()...)
	if err != nil {
		return nil, err
	}
	line := func() ([]byte, error) {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return nil, p.failed()
			}
			return append(line, '\n'), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	heading, err := line()
	return func() ([]byte, error) {
		event, err := line()
		return slices.Concat(heading, event), err
	}, err
}
