package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/headgate/headgate/test/bench/limiters"
	"github.com/headgate/headgate/test/bench/report"
)

// options are what the command line says.
type options struct {
	report.Options
	only   string // a regular expression
	worker string // the name of a subject: this is a process that measures it
}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	switch {
	case err != nil:
	case o.worker != "":
		err = serve(o.worker, pipe{os.Stdin, os.Stdout})
	default:
		err = run(o, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "requests:", err)
		os.Exit(1)
	}
}

func parse(args []string, usage io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("requests", flag.ContinueOnError)
	flags.SetOutput(usage)
	o.AddTo(flags, "few keys and rounds: in seconds, and not exact")
	flags.StringVar(&o.only, "only", "", "compare only limiters whose names match this `regexp`")
	flags.StringVar(&o.worker, "worker", "", "measure this `limiter` as told on the standard input; for the program itself")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if err := o.Check(flags.Args()); err != nil {
		return o, err
	}
	if _, err := regexp.Compile(o.only); err != nil {
		return o, fmt.Errorf("-only: %w", err)
	}
	return o, nil
}

func run(o options, out, progress io.Writer) error {
	b := &bench{plan: planFor(o.Quick), subjects: o.subjects(), start: startProcess, progress: progress}
	r, err := b.run()
	if err != nil {
		return err
	}
	return o.Write(out, r)
}

// subjects returns those that are asked for, and always the one that the others are compared with.
func (o options) subjects() []limiters.Subject {
	only := regexp.MustCompile(o.only)
	var some []limiters.Subject
	for _, s := range limiters.Subjects() {
		if s.Name == limiters.Reference || only.MatchString(s.Name) {
			some = append(some, s)
		}
	}
	return some
}
