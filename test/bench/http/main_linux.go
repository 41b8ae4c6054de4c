package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/headgate/headgate/test/bench/report"
)

// options are what the command line says.
type options struct {
	report.Options
	only     string // "floods", "costs" or ""
	headgate string // program, or "" for one that is built
	role     string // of a process of the benchmark itself
	place    placing
	args     []string // of roleExec
}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	switch {
	case err != nil:
	case o.role != "":
		err = play(o, os.Stdin, os.Stdout)
	default:
		err = run(o, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "http:", err)
		os.Exit(1)
	}
}

func parse(args []string, usage io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("http", flag.ContinueOnError)
	flags.SetOutput(usage)
	o.AddTo(flags, "one short round: in seconds, and not exact")
	flags.StringVar(&o.only, "only", "", "measure only a `part`: floods or costs")
	flags.StringVar(&o.headgate, "headgate", "", "measure this `program`, and not what is built from the source")
	flags.StringVar(&o.role, "role", "", "be a `part` of the benchmark; for the program itself")
	flags.IntVar(&o.place.cpu, "cpu", 0, "with -role: the `number` of the CPU to run on")
	flags.IntVar(&o.place.nice, "nice", 0, "with -role: the `nice` value to run with")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	rest := flags.Args()
	if o.role == roleExec {
		o.args, rest = rest, nil
	}
	if err := o.Check(rest); err != nil {
		return o, err
	}
	if o.only != "" && o.only != onlyFloods && o.only != onlyCosts {
		return o, fmt.Errorf("-only %q: use %s or %s", o.only, onlyFloods, onlyCosts)
	}
	return o, nil
}

func run(o options, out, progress io.Writer) error {
	if os.Geteuid() != 0 {
		return errors.New("needs root: it loads XDP programs and makes network namespaces")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := measureAll(ctx, planFor(o.Quick, o.only), o.headgate, progress)
	if err != nil {
		return err
	}
	return o.Write(out, r)
}
