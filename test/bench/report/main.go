package report

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// Main is the main function of a benchmark that has no flags of its own: it runs it, and ends the process where that
// fails. quick says what -quick is.
func Main(name, quick string, run func(o Options, out, progress io.Writer) error) {
	o, err := Parse(name, quick, os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(o, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Parse returns what the arguments of such a benchmark say. Where they ask for help, it writes that to usage, and the error
// is flag.ErrHelp.
func Parse(name, quick string, args []string, usage io.Writer) (Options, error) {
	var o Options
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(usage)
	o.AddTo(flags, quick)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	return o, o.Check(flags.Args())
}
