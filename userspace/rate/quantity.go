package rate

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
)

// ParseCount reads a number of packets or requests: 100, 2.5k, 20k or 1M, with
// the prefixes k, M and G. It must come out whole and fit in 64 bits.
func ParseCount(s string) (uint64, error) {
	n, err := parseWhole(s, notation{scales: counts(), forms: "100, 2.5k, 20k or 1M"})
	if err != nil {
		return 0, fmt.Errorf("count %.40q: %w", s, err)
	}
	return n, nil
}

// ParseSize reads a number of bytes: 1500, 1500B, 64KiB, 1.5MB or 1GiB, with
// decimal (kB, MB, GB) or binary (KiB, MiB, GiB) prefixes. It must come out
// whole and fit in 64 bits.
func ParseSize(s string) (uint64, error) {
	bare := []scale{{"", 1, 1}}
	n, err := parseWhole(s, notation{
		scales: slices.Concat(decimalSizes(), binarySizes(), bare),
		forms:  "1500, 1500B, 64KiB or 1.5MB",
	})
	if err != nil {
		return 0, fmt.Errorf("size %.40q: %w", s, err)
	}
	return n, nil
}

func parseWhole(s string, n notation) (uint64, error) {
	v, err := n.parse(s)
	switch {
	case err != nil:
		return 0, err
	case !v.IsInt():
		return 0, errors.New("not a whole number; use fewer decimals")
	case !v.Num().IsUint64():
		return 0, errors.New("too large; use at most 18446744073709551615")
	}
	return v.Num().Uint64(), nil
}

// FormatCount writes n as ParseCount reads it, with the largest prefix that
// needs at most three decimals: 20k, 2.5k, 999.
func FormatCount(n uint64) string { return formatWhole(n, counts()) }

// FormatSize writes n bytes as ParseSize reads it: the shorter of the text with
// decimal and the text with binary prefixes, binary if they are equally long:
// 64KiB, 1MB, 1500B.
func FormatSize(n uint64) string {
	decimal, binary := formatWhole(n, decimalSizes()), formatWhole(n, binarySizes())
	if len(decimal) < len(binary) {
		return decimal
	}
	return binary
}

func formatWhole(n uint64, scales []scale) string {
	v := new(big.Rat).SetUint64(n)
	text, _ := format(v, scales, last(scales)) // a whole number always has a text
	return text
}
