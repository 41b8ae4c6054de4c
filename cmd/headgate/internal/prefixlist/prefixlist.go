// Package prefixlist reads addresses and prefixes, and lists of them.
package prefixlist

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/headgate/headgate/maps/wire"
)

// maxFileErrors is how many wrong lines of a file are named.
const maxFileErrors = 5

// Parse reads an address or a prefix. masked says that host bits were set and are cleared.
func Parse(s string) (prefix netip.Prefix, masked bool, err error) {
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

// Read reads a list, one prefix a line; # starts a comment. It reads all of it before it
// says what is wrong. name is what errors call the list; masked is how many had host bits set.
func Read(in io.Reader, name string) (prefixes []netip.Prefix, masked int, err error) {
	var errs []error
	number, wrong := 1, 0
	lines := bufio.NewScanner(in)
	for ; lines.Scan(); number++ {
		text, _, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "\ufeff"), "#")
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		prefix, hostBits, err := Parse(text)
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
