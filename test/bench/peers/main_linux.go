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
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func parse(args []string, usage io.Writer) (report.Options, error) {
	var o report.Options
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(usage)
	o.AddTo(flags, "one short round: in seconds, and not exact")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	return o, o.Check(flags.Args())
}

func run(o report.Options, out, progress io.Writer) error {
	if os.Geteuid() != 0 {
		return errors.New("needs root: it loads XDP programs and rules, in network namespaces that it makes")
	}
	peers, err := findPrograms()
	if err != nil {
		return err
	}
	r, err := measureAll(planFor(o.Quick), peers, progress)
	if err != nil {
		return err
	}
	return o.Write(out, r)
}
