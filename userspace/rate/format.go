package rate

import "math/big"

// String returns a text that parses back to the same rate.
//
// Packets and requests are written per second if whole, else per minute, else
// per hour; if whole in none, in the one that needs the fewest decimals. A
// bandwidth is written in bits, or in bytes if it has more than three decimals
// of a bit. All take the largest prefix that needs at most three decimals:
// 10kpps, 30ppm, 1.536Mbit/s.
//
// An unset rate is "none". A rate built by hand that no finite decimal can
// write is worded as "1 packets per 7s", which does not parse.
func (r Rate) String() string {
	if r.IsZero() {
		return "none"
	}
	if text, ok := r.text(); ok && r.Per > 0 {
		return text
	}
	return r.interval()
}

func (r Rate) text() (string, bool) {
	v := r.perSecond()
	switch r.Unit {
	case Packets:
		scales := fewestDecimals(v, packetsPerSecond(), packetsPerMinute(), packetsPerHour())
		return format(v, scales, last(scales))
	case Requests:
		// No prefixes here, so every scale is a notation of its own.
		perSecond, perMinute, perHour := requests()[:1], requests()[1:2], requests()[2:]
		scales := fewestDecimals(v, perSecond, perMinute, perHour)
		return format(v, scales, last(scales))
	case Bytes:
		return formatBandwidth(v)
	default:
		return "", false
	}
}

// formatBandwidth takes the shorter of bits and a whole number with a binary
// prefix, bits if they are equally long.
func formatBandwidth(v *big.Rat) (string, bool) {
	scales := perSecond(binarySizes())
	plain := last(scales) // B/s
	bits, exact := format(v, bitsPerSecond(), plain)
	binary, whole := prefixed(v, scales[:len(scales)-1], 0)
	if whole && len(binary) < len(bits) {
		return binary, true
	}
	return bits, exact
}

// fewestDecimals returns the notation that writes v without a prefix in the
// fewest decimals, the first of equals. A notation that cannot write v as a
// finite decimal comes last.
func fewestDecimals(v *big.Rat, notations ...[]scale) []scale {
	best, fewest := notations[0], -1
	for _, scales := range notations {
		n, exact := decimals(v, last(scales))
		if exact && (fewest < 0 || n < fewest) {
			best, fewest = scales, n
		}
	}
	return best
}

// format writes v with the largest scale that leaves at least 1 and needs at
// most three decimals, else with the fallback in as many decimals as it needs.
// It reports false if the fallback would need infinitely many.
func format(v *big.Rat, scales []scale, fallback scale) (string, bool) {
	if text, ok := prefixed(v, scales, 3); ok {
		return text, true
	}
	n, exact := decimals(v, fallback)
	return fallback.write(v, n), exact
}

// prefixed writes v with the largest scale that leaves at least 1 and needs at
// most so many decimals. It reports false if there is none.
func prefixed(v *big.Rat, scales []scale, most int) (string, bool) {
	for _, s := range scales {
		n, exact := decimals(v, s)
		if exact && n <= most && v.Cmp(s.factor()) >= 0 {
			return s.write(v, n), true
		}
	}
	return "", false
}

// decimals returns how many decimals v has in scale s, and whether they end.
func decimals(v *big.Rat, s scale) (int, bool) {
	return new(big.Rat).Quo(v, s.factor()).FloatPrec()
}

func (s scale) write(v *big.Rat, decimals int) string {
	return new(big.Rat).Quo(v, s.factor()).FloatString(decimals) + s.suffix
}

func last(scales []scale) scale { return scales[len(scales)-1] }
