package clientip

import "strings"

// maxValue bounds the bytes of a value that are looked at. An element of
// Forwarded may have a host of 255 bytes beside its addresses.
const maxValue = 1024

// values reads the values of a field from the right, over all of its lines, as
// if these were joined by commas. It splits off a value at a time, so that what
// a client wrote further left costs nothing.
//
// An empty value is a value too, though RFC 9110 lets recipients ignore them: a
// hop that wrote nothing must not make the value count that its client wrote.
type values struct {
	lines  []string // those not looked at
	rest   string   // of the line that is looked at
	more   bool     // rest has a value, maybe an empty one
	quoted bool     // commas in quoted strings separate nothing
}

// next returns the next value to the left, without white space around it, and
// false where there is none. After a value that has no beginning it returns
// none, as nobody knows where the one before it ends; that value itself is
// returned as an empty one.
func (v *values) next() (string, bool) {
	if !v.more {
		if len(v.lines) == 0 {
			return "", false
		}
		last := len(v.lines) - 1
		v.rest, v.lines = v.lines[last], v.lines[:last]
	}
	start, ok := v.start()
	if !ok {
		*v = values{}
		return "", true
	}
	value := v.rest[start:]
	v.more = start > 0
	v.rest = v.rest[:max(0, start-1)] // without the comma
	return strings.Trim(value, " \t"), true
}

// start returns where the last value of rest begins. It returns false if that is
// further away than maxValue, or unknown: with quoted, where something is neither
// in a well-formed quoted string nor could be outside of one.
func (v *values) start() (int, bool) {
	low, inString := max(0, len(v.rest)-maxValue-1), false
	for i := len(v.rest) - 1; i >= low; i-- {
		switch c := v.rest[i]; {
		case c == ',' && !inString:
			return i + 1, true
		case !v.quoted:
		case c == '\\' && !inString:
			return 0, false
		case c == '"' && !escaped(v.rest[low:i]):
			inString = !inString
		}
	}
	return 0, len(v.rest) <= maxValue && !inString
}

// escaped reports whether what follows s in a quoted string is taken as it is:
// whether s ends in an odd number of backslashes.
func escaped(s string) bool {
	return (len(s)-len(strings.TrimRight(s, `\`)))%2 == 1
}
