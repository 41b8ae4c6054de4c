package config

import (
	"strconv"
	"strings"
	"time"
)

const (
	// leastTime is the shortest time that something may take.
	leastTime = time.Millisecond
	// day bounds what a request may take, and year how long a rule holds.
	day  = 24 * time.Hour
	year = 365 * day
)

// duration returns a time of at least low and at most high, or otherwise if it is not given. It is otherwise too if it
// is wrong.
func (m mapping) duration(name string, low, high, otherwise time.Duration) time.Duration {
	v := m.field(name)
	if !v.given() {
		return otherwise
	}
	text, ok := v.text()
	if !ok {
		return otherwise
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		v.fail("%.40q: %s", text, insteadOf(text))
	case d < low || d > high:
		v.fail("%.40s is out of range; use %s to %s", text, formatDuration(low), formatDuration(high))
	default:
		return d
	}
	return otherwise
}

// insteadOf says what to write for a time that is none.
func insteadOf(text string) string {
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz ")
	n, err := strconv.ParseUint(number, 10, 16)
	unit := strings.TrimSpace(strings.TrimPrefix(text, number))
	hours := map[string]uint64{"d": 24, "day": 24, "days": 24, "w": 7 * 24, "week": 7 * 24, "weeks": 7 * 24}[unit]
	switch {
	case err == nil && unit == "":
		return "no unit; use " + number + "s, or another of ms, s, m and h"
	case err == nil && hours > 0:
		return "unknown unit " + unit + "; use " + strconv.FormatUint(n*hours, 10) + "h"
	default:
		return "not a time; use 500ms, 10s, 5m or 2h"
	}
}

// formatDuration writes d without the zeros that time.Duration has at the end: 10m, 1h.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
