package report

import (
	"flag"
	"fmt"
	"io"
	"os"
)

// Options are the flags that every benchmark has.
type Options struct {
	Quick  bool
	Output string // "table" or "json"
	SVG    string // file name, or ""
}

// AddTo adds the flags to those of a benchmark. quick says what -quick is.
func (o *Options) AddTo(flags *flag.FlagSet, quick string) {
	flags.BoolVar(&o.Quick, "quick", false, quick)
	flags.StringVar(&o.Output, "o", "table", "print a `format`: table or json")
	flags.StringVar(&o.SVG, "svg", "", "write a plot to this `file` too")
}

// Check returns what is wrong with what the flags say, or with the arguments behind them, of which there must be none.
func (o *Options) Check(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unknown argument %q; there are only flags", args[0])
	}
	if o.Output != "table" && o.Output != "json" {
		return fmt.Errorf("output format %q: use table or json", o.Output)
	}
	return nil
}

// Report is what a benchmark has found.
type Report interface {
	WriteTable(w io.Writer) error
	WriteJSON(w io.Writer) error
	WriteSVG(w io.Writer) error
}

// Write writes a report as the flags say.
func (o *Options) Write(out io.Writer, r Report) error {
	if o.SVG != "" {
		if err := writeFile(o.SVG, r.WriteSVG); err != nil {
			return err
		}
	}
	if o.Output == "json" {
		return r.WriteJSON(out)
	}
	return r.WriteTable(out)
}

func writeFile(name string, write func(io.Writer) error) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	err = write(file)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return err
}
