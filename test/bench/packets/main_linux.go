package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/headgate/headgate/test/bench/report"
)

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(o, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "packets:", err)
		os.Exit(1)
	}
}

func parse(args []string, usage io.Writer) (report.Options, error) {
	var o report.Options
	flags := flag.NewFlagSet("packets", flag.ContinueOnError)
	flags.SetOutput(usage)
	o.AddTo(flags, "few rounds: in minutes, most of them to load a million rules, and not exact")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	return o, o.Check(flags.Args())
}

func run(o report.Options, out, progress io.Writer) error {
	if os.Geteuid() != 0 {
		return errors.New("needs root: it loads XDP programs and makes network namespaces")
	}
	r, err := measureAll(planFor(o.Quick), progress)
	if err != nil {
		return err
	}
	return o.Write(out, r)
}
