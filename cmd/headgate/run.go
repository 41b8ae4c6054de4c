package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/lockout"
	"github.com/headgate/headgate/cmd/headgate/internal/plane"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/userspace/agent"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/gateway"
	"github.com/headgate/headgate/userspace/redisconn"
)

type runFlags struct{ configFlag }

func newRunCmd(e *env, g *global) *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run -c FILE",
		Short: "Run the agent: both limiters, by one configuration file",
		Long: `run is the agent, which systemd or you start. By one file it sets up the kernel's limiter, limits HTTP requests in
front of a backend or for a gateway that asks, hands those who are refused again and again down to the kernel, moves rates
by the health of the backend, and exports metrics. Without a kernel section it needs no privileges.

SIGHUP, a change of the file, or ` + "`headgate reload`" + ` has it read the file again: the whole new file or, if anything in it is wrong,
nothing of it. The first SIGTERM or SIGINT lets requests under way end, a second one ends at once. The kernel's limiter stays in
force in any case; ` + "`headgate detach --all`" + ` ends it.`,
		Example: `  headgate check -c headgate.yaml
  headgate run -c headgate.yaml`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.require(cmd); err != nil {
				return err
			}
			if f.file == "-" {
				return usagef("--config -: the agent reads its file again when it changes; name a file")
			}
			return e.runAgent(cmd.Context(), g, f.file)
		},
	}
	f.register(cmd)
	return cmd
}

func (e *env) runAgent(ctx context.Context, g *global, file string) error {
	redisconn.Quiet()
	var started atomic.Bool
	a := agent.New(agent.Options{
		Path:    file,
		Version: versionView().Version,
		Sockets: gateway.Inherited(),
		Stderr:  e.stderr,
		Kernel:  func(log *slog.Logger) (agent.Kernel, error) { return e.openPlane(g, log, &started) },
		Started: func(file *config.File) error {
			started.Store(true)
			return giveUpPrivileges(file)
		},
	})
	ctx, stop := interruptibleService(ctx, func() { _ = a.Reload() }) // it has told what is wrong
	defer stop()
	defer e.collectSeldom()()
	return perhapsTwice(a.Run(ctx))
}

// perhapsTwice adds to an error of an address in use who may use it: mostly an agent that systemd has started.
func perhapsTwice(err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w; perhaps an agent runs already: `headgate agent` shows it", err)
	}
	return err
}

// openPlane returns the kernel's limiter for an agent. Without privilege it would take this program, where it is attached
// already, for another one.
func (e *env) openPlane(g *global, log *slog.Logger, started *atomic.Bool) (agent.Kernel, error) {
	if err := loader.CheckPrivilege(); err != nil {
		return nil, fmt.Errorf("kernel: %w", sinceGivenUp(err, started))
	}
	p, err := plane.New(plane.Options{
		Loader: g.options(e), Log: log,
		Guard: lockout.Guard{Peers: func() []lockout.Peer { return lockout.Peers(e.getenv) }},
	})
	return &runningPlane{p, started}, err
}

// runningPlane is a plane that says why it may not do what it could when the agent started.
type runningPlane struct {
	agent.Kernel
	started *atomic.Bool
}

// Apply implements agent.Kernel.
func (p *runningPlane) Apply(k config.Kernel) error {
	return sinceGivenUp(p.Kernel.Apply(k), p.started)
}

// sinceGivenUp adds to an error of privilege that the agent had it once.
func sinceGivenUp(err error, started *atomic.Bool) error {
	if errors.Is(err, loader.ErrPrivilege) && started.Load() {
		// What err advises is for processes that never had it.
		return fmt.Errorf("%w: after its start the agent gave up what its first file did not need, such as the right to load the program: restart it, or attach by hand",
			loader.ErrPrivilege)
	}
	return err
}

// interruptibleService is interruptible for a process to which SIGHUP says to read its configuration again.
func interruptibleService(ctx context.Context, reload func()) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second one ends the process
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-hangups:
				reload()
			case <-ctx.Done():
				return // SIGHUP stays caught: it must not end an agent that drains
			}
		}
	}()
	return ctx, stop
}
