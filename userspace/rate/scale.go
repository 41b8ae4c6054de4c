package rate

import "math/big"

// scale is one suffix of a notation. A number written with it means
// number * num / den of the base: units per second for rates, units for counts
// and sizes.
type scale struct {
	suffix   string
	num, den int64
}

func (s scale) factor() *big.Rat { return big.NewRat(s.num, s.den) }

// Every list of scales goes from the largest to the smallest, so that the last
// is the one without a prefix.

func packetsPerSecond() []scale {
	return []scale{{"Gpps", 1e9, 1}, {"Mpps", 1e6, 1}, {"kpps", 1e3, 1}, {"pps", 1, 1}}
}

func packetsPerMinute() []scale {
	return []scale{{"Mppm", 1e6, 60}, {"kppm", 1e3, 60}, {"ppm", 1, 60}}
}

func packetsPerHour() []scale {
	return []scale{{"Mpph", 1e6, 3600}, {"kpph", 1e3, 3600}, {"pph", 1, 3600}}
}

func requests() []scale {
	return []scale{{"r/s", 1, 1}, {"r/m", 1, 60}, {"r/h", 1, 3600}}
}

func bitsPerSecond() []scale {
	return []scale{{"Gbit/s", 1e9, 8}, {"Mbit/s", 1e6, 8}, {"kbit/s", 1e3, 8}, {"bit/s", 1, 8}}
}

func bytesPerSecond() []scale {
	return append(perSecond(binarySizes()), perSecond(decimalSizes())...)
}

func perSecond(sizes []scale) []scale {
	for i := range sizes {
		sizes[i].suffix += "/s"
	}
	return sizes
}

func counts() []scale {
	return []scale{{"G", 1e9, 1}, {"M", 1e6, 1}, {"k", 1e3, 1}, {"", 1, 1}}
}

func decimalSizes() []scale {
	return []scale{{"GB", 1e9, 1}, {"MB", 1e6, 1}, {"kB", 1e3, 1}, {"B", 1, 1}}
}

func binarySizes() []scale {
	return []scale{{"GiB", 1 << 30, 1}, {"MiB", 1 << 20, 1}, {"KiB", 1 << 10, 1}, {"B", 1, 1}}
}
