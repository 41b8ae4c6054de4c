package main

import (
	"errors"
	"io"
	"os"

	"github.com/headgate/headgate/test/bench/report"
)

func main() { report.Main("scale", "few rounds: in seconds, and not exact", run) }

func run(o report.Options, out, progress io.Writer) error {
	if os.Geteuid() != 0 {
		return errors.New("needs root: it loads XDP programs")
	}
	r, err := measureAll(planFor(o.Quick), progress)
	if err != nil {
		return err
	}
	return o.Write(out, r)
}
