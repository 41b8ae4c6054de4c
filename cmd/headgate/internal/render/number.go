package render

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

func count(n uint64) string { return strconv.FormatUint(n, 10) }

// memory writes bytes of memory with a binary prefix.
func memory(bytes uint64) string {
	return scaled(float64(bytes), 1024, " ", "B", "KiB", "MiB", "GiB", "TiB")
}

// perSecond writes a measured number of things a second.
func perSecond(n float64) string { return scaled(n, 1000, "", "", "k", "M", "G", "T") }

// bitRate writes measured bits per second.
func bitRate(bits float64) string {
	return scaled(bits, 1000, " ", "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s")
}

// scaled writes n in the smallest prefix that leaves fewer than four digits before the point,
// with one after it where there is a prefix or n is small and not whole.
func scaled(n, step float64, gap string, units ...string) string {
	i, decimals, half := 0, 0, 0.5
	if n < 10 && n != math.Trunc(n) {
		decimals = 1
	}
	for n >= step-half && i < len(units)-1 {
		n /= step
		i, decimals, half = i+1, 1, 0.05
	}
	return strconv.FormatFloat(n, 'f', decimals, 64) + gap + units[i]
}

// Duration writes d without the zeros that time.Duration has at the end: 10m, 1h, 1h30m.
func Duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// plural writes a number of things: 1 packet, 2 packets.
func plural[N int | uint64](n N, thing string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, thing)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// orDash stands in for what is not there.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
