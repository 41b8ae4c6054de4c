package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"

	"github.com/headgate/headgate/maps/wire"
)

// maxFileErrors is how many wrong lines of a file are named.
const maxFileErrors = 5

// parsePrefix reads an address or a prefix. masked says that host bits were set and are cleared.
func parsePrefix(s string) (prefix netip.Prefix, masked bool, err error) {
	if addr, err := netip.ParseAddr(s); err == nil {
		if addr.Zone() != "" {
			return netip.Prefix{}, false, fmt.Errorf("prefix %q: leave out the zone %q; "+
				"a rule holds on every interface", s, addr.Zone())
		}
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), false, nil
	}
	parsed, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, false, fmt.Errorf("prefix %q: use an address such as 203.0.113.7 or "+
			"2001:db8::1, or a prefix such as 203.0.113.0/24 or 2001:db8::/32%s", s, hint(s))
	}
	prefix = wire.Prefix(parsed)
	return prefix, prefix.Addr() != parsed.Addr().Unmap(), nil
}

// hint says what is wrong with a prefix where that is easily seen.
func hint(s string) string {
	addr, bits, ok := strings.Cut(s, "/")
	parsed, err := netip.ParseAddr(addr)
	switch {
	case !ok || err != nil:
		return ""
	case parsed.Is4():
		return fmt.Sprintf("; /%s is not 0 to 32, as IPv4 has", bits)
	default:
		return fmt.Sprintf("; /%s is not 0 to 128, as IPv6 has", bits)
	}
}

// prefixArgs reads the prefixes of a command line, and those of its --file. It notices host bits
// that were set, and returns an error for the first thing that is wrong: then nothing is done.
func (e *env) prefixArgs(args []string, file string) ([]netip.Prefix, error) {
	if len(args) == 0 && file == "" {
		return nil, usagef("name at least one address or prefix, or a list with --file")
	}
	var prefixes []netip.Prefix
	for _, arg := range args {
		prefix, masked, err := parsePrefix(arg)
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
	prefixes, masked, err := readPrefixes(in, name)
	switch {
	case err != nil:
	case masked == 1:
		e.notice("note: 1 prefix of %s has host bits set; it is masked", name)
	case masked > 1:
		e.notice("note: %d prefixes of %s have host bits set; they are masked", masked, name)
	}
	return prefixes, err
}

// readPrefixes reads a list, one prefix a line; # starts a comment. It reads all of it before it
// says what is wrong.
func readPrefixes(in io.Reader, name string) (prefixes []netip.Prefix, masked int, err error) {
	var errs []error
	number, wrong := 1, 0
	lines := bufio.NewScanner(in)
	for ; lines.Scan(); number++ {
		text, _, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "\ufeff"), "#")
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		prefix, hostBits, err := parsePrefix(text)
		if err != nil {
			if wrong++; wrong <= maxFileErrors {
				errs = append(errs, fmt.Errorf("%s:%d: %w", name, number, err))
			}
			continue
		}
		if hostBits {
			masked++
		}
		prefixes = append(prefixes, prefix)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, 0, fmt.Errorf("%s:%d: the line is too long to be a prefix; nothing was changed", name, number)
	} else if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", name, err)
	}
	switch more := wrong - maxFileErrors; {
	case more == 1:
		errs = append(errs, fmt.Errorf("%s: 1 more line is wrong", name))
	case more > 1:
		errs = append(errs, fmt.Errorf("%s: %d more lines are wrong", name, more))
	}
	if len(errs) > 0 {
		return nil, 0, fmt.Errorf("%w; nothing was changed", errors.Join(errs...))
	}
	return prefixes, masked, nil
}
