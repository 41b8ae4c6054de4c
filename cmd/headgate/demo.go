package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/demo"
	"github.com/headgate/headgate/cmd/headgate/internal/demo/part"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
)

func newDemoCmd(e *env, g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Limit real packets and requests in throwaway namespaces, and check the numbers",
		Long: `demo makes network namespaces with a pair of interfaces between them, and plays two acts there.

In the first it attaches to one of the interfaces in native mode and sends packets from the other: from a source
that floods, one that floods from 100 addresses, one at its limit, and a modest one. While they send it limits,
lowers and lifts a limit, and blocks one, and says which commands do that.

In the second it runs an agent, with a proxy in front of a backend, and two clients. One floods with requests, is
refused, is handed down to the kernel, comes again when the block is over, and is out for twice as long. The other
one notices nothing.

At last it compares each number with theory, and headgate's counters with what others have counted: a socket behind
it, the interface, the clients and the backend.

It takes about 20 seconds. It touches no interface that the machine has, and no running instance, and
leaves nothing behind. The exit code is 1 where a number is off.`,
		Example: `  headgate demo
  headgate demo -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return e.demo(cmd, g) },
	}
}

// newDemoPartCmd is somebody who plays in the demo, as a process. It is not for people.
func newDemoPartCmd(e *env) *cobra.Command {
	return &cobra.Command{
		Use:    "demo-part NAME SCRIPT",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			var script part.Script
			if err := json.Unmarshal([]byte(args[1]), &script); err != nil {
				return usagef("script %q: %w", args[1], err)
			}
			return part.Play(args[0], script, e.stdin, e.stdout)
		},
	}
}

func (e *env) demo(cmd *cobra.Command, g *global) error {
	format, err := g.format()
	if err != nil {
		return err
	}
	o := demo.Options{Live: e.stdout, Terminal: e.drawable}
	if format == render.JSON {
		o = demo.Options{}
	}
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	summary, err := demo.Run(ctx, o)
	if err != nil {
		return err
	}
	if format == render.Table {
		if _, err := io.WriteString(e.stdout, "\n"); err != nil {
			return fmt.Errorf("write the output: %w", err)
		}
	}
	if err := e.print(g, summary); err != nil {
		return err
	}
	if !summary.OK {
		return fmt.Errorf("%d numbers are off; please report this, with the output of `headgate demo -o json`", summary.Off())
	}
	return nil
}

// drawable returns the size of the terminal that the output goes to, if it is one to draw on.
func (e *env) drawable() (width, height int, ok bool) {
	if e.getenv("TERM") == "dumb" {
		return 0, 0, false
	}
	return e.terminal(e.stdout)
}
