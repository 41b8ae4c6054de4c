package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/cmd/headgate/internal/demo"
	"github.com/headgate/headgate/cmd/headgate/internal/render"
)

func newDemoCmd(e *env, g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Limit real packets in a throwaway namespace, and check the numbers",
		Long: `demo makes two network namespaces with a pair of interfaces between them, attaches to one of
these in native mode and sends packets from the other: from a source that floods, one that floods
from 100 addresses, one at its limit, and a modest one. While they send it limits, lowers and lifts a
limit, and blocks one, and says which commands do that. At last it compares each number with theory,
and headgate's counters with what a socket behind it has counted.

It takes about 13 seconds. It touches no interface that the machine has, and no running instance, and
leaves nothing behind. The exit code is 1 where a number is off.`,
		Example: `  headgate demo
  headgate demo -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return e.demo(cmd, g) },
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
