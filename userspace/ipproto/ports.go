package ipproto

import (
	"fmt"
	"strconv"
	"strings"
)

// ParsePorts reads a port from 1 to 65535, or a range of them, both ends included: 53 or 1000-2000. The error tells what
// to use.
func ParsePorts(text string) (first, last uint16, err error) {
	firstText, lastText, isRange := strings.Cut(text, "-")
	if !isRange {
		lastText = firstText
	}
	low, err1 := strconv.ParseUint(firstText, 10, 16)
	high, err2 := strconv.ParseUint(lastText, 10, 16)
	switch {
	case err1 != nil || err2 != nil || low == 0:
		return 0, 0, fmt.Errorf("%.40q: use a port from 1 to 65535, or a range as 1000-2000", text)
	case low > high:
		return 0, 0, fmt.Errorf("%.40q: the range ends before it starts; use %d-%d", text, high, low)
	default:
		return uint16(low), uint16(high), nil
	}
}
