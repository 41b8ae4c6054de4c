package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/userspace/admin"
)

// agentFlags say where the agent is.
type agentFlags struct {
	socket, tokenFile string
}

func (f *agentFlags) register(cmd *cobra.Command, e *env) {
	flags := cmd.Flags()
	flags.StringVar(&f.socket, "socket", e.socket(),
		"the agent's socket, or its URL, as http://127.0.0.1:9091; env HEADGATE_SOCKET")
	flags.StringVar(&f.tokenFile, "token-file", e.getenv("HEADGATE_TOKEN_FILE"),
		"file with the token that a URL needs; env HEADGATE_TOKEN_FILE")
	placeholders(cmd, map[string]string{"socket": "PATH|URL", "token-file": "FILE"})
}

// client returns a client of the agent.
func (f *agentFlags) client() (*admin.Client, error) {
	c, err := admin.NewClient(f.socket, f.tokenFile)
	return c, usage(err)
}

// ask gives a command a client of the agent.
func (f *agentFlags) ask(g *global, do func(*admin.Client) error) error {
	if _, err := g.format(); err != nil {
		return err
	}
	c, err := f.client()
	if err != nil {
		return err
	}
	defer c.Close()
	return whatToDo(do(c))
}

// whatToDo adds to an error of a client what to do about it.
func whatToDo(err error) error {
	switch {
	case errors.Is(err, admin.ErrNoAgent):
		return fmt.Errorf("%w; start one whose file has an admin section (headgate run -c FILE), or say where it is with --socket", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; its socket is for the user that it runs as: use sudo", err)
	}
	return err
}

// statusTime is how long to wait for an agent that is only asked by the way.
const statusTime = 200 * time.Millisecond

// runningAgent returns the agent that runs, or nil if none answers at once.
func (e *env) runningAgent(ctx context.Context) *render.RunningAgent {
	s, err := e.agentStatus(ctx)
	if err != nil {
		return nil
	}
	return &render.RunningAgent{Version: s.Version, PID: s.PID, Uptime: s.UptimeSeconds}
}

// agentLimits reports whether an agent answers that has the kernel limit packets: then it is the one to read the kernel's events,
// also in the moment in which it has not begun to.
func (e *env) agentLimits(ctx context.Context) bool {
	s, err := e.agentStatus(ctx)
	return err == nil && len(s.Interfaces) > 0
}

func (e *env) agentStatus(ctx context.Context) (admin.Status, error) {
	c, err := admin.NewClient(e.socket(), e.getenv("HEADGATE_TOKEN_FILE"))
	if err != nil {
		return admin.Status{}, err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	return c.Status(ctx)
}

// socket returns where the agent is if no flag says so.
func (e *env) socket() string { return cmp.Or(e.getenv("HEADGATE_SOCKET"), admin.DefaultSocket) }

func newAgentCmd(e *env, g *global) *cobra.Command {
	f := &agentFlags{}
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Show what the running agent is and does",
		Long: `agent shows the agent that headgate run has started: which file is in force, and why no newer one is,
where it listens, its servers, and what the backend's health has made of the rates. What it limits in
the kernel is shown by status, stats, rules and top, with or without an agent.`,
		Example: `  headgate agent
  headgate agent -o json
  headgate agent --socket http://127.0.0.1:9091 --token-file token`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.ask(g, func(c *admin.Client) error {
				status, err := c.Status(cmd.Context())
				if err != nil {
					return err
				}
				return e.print(g, render.Agent{Status: status})
			})
		},
	}
	f.register(cmd, e)
	return cmd
}
