package main

import (
	"errors"
	"io"
	"os"

	"github.com/headgate/headgate/test/bench/report"
)

func main() {
	report.Main("packets", "few rounds: in minutes, most of them to load a million rules, and not exact", run)
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
