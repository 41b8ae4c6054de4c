package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/headgate/headgate/test/bench/report"
)

// options are what the command line says.
type options struct {
	quick  bool
	output string // "table" or "json"
	svg    string // file name, or ""
}

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

func parse(args []string, usage io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("packets", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.BoolVar(&o.quick, "quick", false, "few rounds: in seconds, and not exact")
	flags.StringVar(&o.output, "o", "table", "print a `format`: table or json")
	flags.StringVar(&o.svg, "svg", "", "write a plot to this `file` too")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q; there are only flags", flags.Arg(0))
	}
	if o.output != "table" && o.output != "json" {
		return o, fmt.Errorf("output format %q: use table or json", o.output)
	}
	return o, nil
}

func run(o options, out, progress io.Writer) error {
	if os.Geteuid() != 0 {
		return errors.New("needs root: it loads XDP programs and makes network namespaces")
	}
	r, err := measureAll(planFor(o.quick), progress)
	if err != nil {
		return err
	}
	if o.svg != "" {
		if err := report.WriteFile(o.svg, r.WriteSVG); err != nil {
			return err
		}
	}
	if o.output == "json" {
		return r.WriteJSON(out)
	}
	return r.WriteTable(out)
}
