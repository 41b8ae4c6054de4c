package render

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/userspace/rate"
)

// Explanation is what a limit means for one source. Units are packets, bytes or requests, as Unit
// says.
type Explanation struct {
	Limit        string `json:"limit"`
	Unit         string `json:"unit"`
	Burst        uint64 `json:"burst"`
	DefaultBurst bool   `json:"default_burst"` // none was given

	// Of requests only. Prompt is how many of AtOnce do not wait, and LongestDelay how long the last of them does.
	Algorithm    string  `json:"algorithm,omitempty"`
	Prompt       uint64  `json:"at_once_without_delay,omitempty"`
	LongestDelay float64 `json:"longest_delay_seconds,omitempty"`

	AtOnce   uint64  `json:"at_once"`          // from an idle source, at one instant
	Interval float64 `json:"interval_seconds"` // between two units in the long run
	Refill   float64 `json:"refill_seconds"`   // of silence after all that may pass at once
	InSecond uint64  `json:"most_in_a_second"` // in any second, the burst included
	InMinute uint64  `json:"most_in_a_minute"`

	// What is enforced: the cost of a unit is whole in the limiter's ticks, rounded up.
	PerSecond float64 `json:"effective_per_second"`
	Error     float64 `json:"rate_error_percent"` // how much that is less than asked for

	Notes []string `json:"notes"`
}

// countedWhole is from where numbers are written with a prefix, if that makes them shorter.
const countedWhole = 100_000

// packetBytes is the length of a packet that fills an Ethernet frame.
const packetBytes = 1500

// Table writes it in words.
func (x Explanation) Table(p *Page) {
	p.Facts(
		Fact{"limit", x.Limit + x.burst()},
		Fact{"at one instant", x.quantity(x.AtOnce) + " from an idle source, and no more" + x.waits()},
		Fact{"in the long run", x.pace()},
		Fact{"burst is back", "after " + seconds(x.Refill) + " of silence"},
		Fact{"in any second", "at most " + x.quantity(x.InSecond)},
		Fact{"in any minute", "at most " + x.quantity(x.InMinute)},
		Fact{"in force", x.inForce()},
	)
	for _, note := range x.Notes {
		p.Section()
		p.Line("%s", note)
	}
}

func (x Explanation) burst() string {
	var b string
	switch {
	case x.Algorithm == "window" || x.Algorithm == "sliding":
		return ", algorithm " + x.Algorithm
	case x.DefaultBurst:
		b = ", burst " + x.quantity(x.Burst) + " (the default)"
	default:
		b = ", burst " + x.quantity(x.Burst)
	}
	if x.Algorithm != "" && x.Algorithm != "leaky" {
		b += ", algorithm " + x.Algorithm
	}
	return b
}

// waits says which requests wait for their turn.
func (x Explanation) waits() string {
	if x.LongestDelay == 0 {
		return ""
	}
	return fmt.Sprintf("; from the %s on they wait, up to %s", ordinal(x.Prompt+1), seconds(x.LongestDelay))
}

func (x Explanation) quantity(n uint64) string {
	if x.Unit == rate.Bytes.String() {
		return rate.FormatSize(n)
	}
	if text := rate.FormatCount(n); n >= countedWhole && len(text) < len(count(n)) {
		return text + " " + x.Unit
	}
	return plural(n, strings.TrimSuffix(x.Unit, "s"))
}

func (x Explanation) pace() string {
	if x.Unit == rate.Bytes.String() {
		size := min(packetBytes, x.AtOnce)
		return fmt.Sprintf("a packet of %d bytes every %s", size, seconds(float64(size)*x.Interval))
	}
	return "1 " + strings.TrimSuffix(x.Unit, "s") + " every " + seconds(x.Interval)
}

func (x Explanation) inForce() string {
	if x.Error == 0 {
		return "exactly this rate"
	}
	const least = 0.0001
	less := "less than 0.0001"
	if x.Error >= least {
		less = strconv.FormatFloat(x.Error, 'g', 2, 64)
	}
	return fmt.Sprintf("%s %s a second, %s %% below what was asked",
		strconv.FormatFloat(x.PerSecond, 'g', 12, 64), x.Unit, less)
}

// seconds writes a time to four digits or to the nanosecond.
func seconds(s float64) string {
	ns := s * float64(time.Second)
	if ns >= math.MaxInt64 {
		return strconv.FormatFloat(s/(365.25*24*3600), 'f', 0, 64) + " years"
	}
	d := time.Duration(math.Round(ns))
	unit := time.Duration(1)
	for unit < d/10000 {
		unit *= 10
	}
	if d < time.Minute {
		d = d.Round(unit)
	} else {
		d = d.Round(time.Second)
	}
	return Duration(d)
}
