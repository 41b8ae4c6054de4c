package rate

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode"
)

// ParsePackets reads a packet rate: 500pps, 10kpps, 2.5Mpps, 30ppm or 6pph, per
// second, minute or hour. The prefixes k and M go with all three, G with pps.
// The range is 1pph to 100Mpps. The error for a zero rate wraps ErrZero.
func ParsePackets(s string) (Rate, error) {
	return parseRate(s, Packets, notation{
		scales: slices.Concat(packetsPerSecond(), packetsPerMinute(), packetsPerHour()),
		forms:  "500pps, 10kpps, 2.5Mpps, 30ppm or 6pph",
	})
}

// ParseBandwidth reads a bandwidth in bits (bit/s, kbit/s, Mbit/s, Gbit/s) or
// bytes (B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s) into a Rate in Bytes.
// The range is 1B/s to 400Gbit/s. The error for a zero rate wraps ErrZero.
func ParseBandwidth(s string) (Rate, error) {
	const forms = "100Mbit/s, 12MB/s or 64KiB/s"
	if _, suffix := splitNumber(s); bitsOrBytes(suffix) {
		return Rate{}, fmt.Errorf("rate %.40q: unit %.40q could mean bits or bytes; use %s", s, suffix, forms)
	}
	return parseRate(s, Bytes, notation{
		scales: slices.Concat(bitsPerSecond(), bytesPerSecond()),
		forms:  forms,
	})
}

// bitsOrBytes reports whether people use suffix for both bits and bytes.
func bitsOrBytes(suffix string) bool {
	return strings.HasSuffix(strings.ToLower(suffix), "bps") || strings.HasSuffix(suffix, "b/s")
}

// ParseRequests reads a rate of HTTP requests: 10r/s, 30r/m or 100r/h, per
// second, minute or hour. The range is 1r/h to 100000000r/s. The error for a
// zero rate wraps ErrZero.
func ParseRequests(s string) (Rate, error) {
	return parseRate(s, Requests, notation{scales: requests(), forms: "10r/s, 30r/m or 100r/h"})
}

func parseRate(s string, unit Unit, n notation) (Rate, error) {
	perSecond, err := n.parse(s)
	if err != nil {
		return Rate{}, fmt.Errorf("rate %.40q: %w", s, err)
	}
	r, err := fromRat(perSecond, unit)
	if err != nil {
		return Rate{}, fmt.Errorf("rate %.40q: %w", s, err)
	}
	return r, nil
}

// notation is a set of suffixes and the examples to show who got it wrong.
type notation struct {
	scales []scale
	forms  string
}

// parse reads a number and one of the suffixes. Its errors do not repeat s.
func (n notation) parse(s string) (*big.Rat, error) {
	v, err := n.value(s)
	if err != nil {
		return nil, fmt.Errorf("%w; use %s", err, n.forms)
	}
	return v, nil
}

func (n notation) value(s string) (*big.Rat, error) {
	if strings.ContainsFunc(s, unicode.IsSpace) {
		return nil, errors.New("contains a space, write number and unit together")
	}
	number, suffix := splitNumber(s)
	v, err := parseNumber(number)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(n.scales, func(sc scale) bool { return sc.suffix == suffix })
	switch {
	case i >= 0:
		return v.Mul(v, n.scales[i].factor()), nil
	case suffix == "":
		return nil, errors.New("no unit")
	default:
		return nil, fmt.Errorf("unknown unit %.40q", suffix)
	}
}

// splitNumber cuts s before the first byte that cannot be part of a number.
func splitNumber(s string) (number, suffix string) {
	rest := strings.TrimLeft(s, "0123456789.")
	return s[:len(s)-len(rest)], rest
}

// maxDigits bounds the work that a number can cause. Any number that a Rate or
// a uint64 keeps exactly has fewer digits.
const maxDigits = 40

// parseNumber reads decimal digits with at most one point, which has digits on
// both sides. The caller has made sure that there are only digits and points.
func parseNumber(s string) (*big.Rat, error) {
	whole, fraction, point := strings.Cut(s, ".")
	switch {
	case s == "":
		return nil, errors.New("does not start with a number")
	case len(s) > maxDigits:
		return nil, fmt.Errorf("number is longer than %d digits", maxDigits)
	case whole == "", point && fraction == "", strings.Contains(fraction, "."):
		return nil, fmt.Errorf("malformed number %q", s)
	}
	v, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil, fmt.Errorf("malformed number %q", s)
	}
	return v, nil
}
