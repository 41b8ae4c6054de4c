package main

import (
	"fmt"
	"net/netip"
	"os"

	"github.com/headgate/headgate/cmd/headgate/internal/prefixlist"
)

// prefixArgs reads the prefixes of a command line, and those of its --file. It notices host bits
// that were set, and returns an error for the first thing that is wrong: then nothing is done.
func (e *env) prefixArgs(args []string, file string) ([]netip.Prefix, error) {
	if len(args) == 0 && file == "" {
		return nil, usagef("name at least one address or prefix, or a list with --file")
	}
	var prefixes []netip.Prefix
	for _, arg := range args {
		prefix, masked, err := prefixlist.Parse(arg)
		if err != nil {
			return nil, usage(err)
		}
		if masked {
			e.notice("note: %s has host bits set, taken as %s", arg, prefix)
		}
		prefixes = append(prefixes, prefix)
	}
	if file == "" {
		return prefixes, nil
	}
	listed, err := e.prefixFile(file)
	return append(prefixes, listed...), err
}

func (e *env) prefixFile(name string) ([]netip.Prefix, error) {
	in := e.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read the list: %w", err)
		}
		defer f.Close()
		in = f
	} else {
		name = "standard input"
	}
	prefixes, masked, err := prefixlist.Read(in, name)
	switch {
	case err != nil:
	case masked == 1:
		e.notice("note: 1 prefix of %s has host bits set; it is masked", name)
	case masked > 1:
		e.notice("note: %d prefixes of %s have host bits set; they are masked", masked, name)
	}
	return prefixes, err
}
