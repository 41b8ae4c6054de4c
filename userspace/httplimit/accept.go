package httplimit

import (
	"slices"
	"strings"
)

// mediaType is how the body of a refusal is written.
type mediaType int

// The media types, the preferred first.
const (
	problemJSON mediaType = iota
	plainText
	htmlText
)

// namesOf returns the ranges of an Accept field that mean each media type, the most specific first. Who accepts
// JSON can read problem+json (RFC 9457, section 3).
func namesOf() [3][4]string {
	return [3][4]string{
		problemJSON: {"application/problem+json", "application/json", "application/*", "*/*"},
		plainText:   {"text/plain", "text/*", "*/*"},
		htmlText:    {"text/html", "text/*", "*/*"},
	}
}

// negotiate returns the media type that a client with that Accept field likes best; problemJSON if it accepts
// none, since a body that it did not ask for tells it more than none.
func negotiate(accept string) mediaType {
	best, most := problemJSON, 0
	if accept == "" || accept == "*/*" { // as of most programs
		return best
	}
	for t, q := range qualities(accept) {
		if q > most {
			best, most = mediaType(t), q
		}
	}
	return best
}

// qualities returns how much accept wants each media type, 0 to 1000, by the most specific range that means
// it (RFC 9110, section 12.5.1). Parameters other than q are not looked at, and what cannot be read
// is passed over.
func qualities(accept string) (q [3]int) {
	names := namesOf()
	ranks := [3]int{len(names[0]), len(names[0]), len(names[0])}
	for accept != "" {
		var element string
		element, accept = cutUnquoted(accept, ',')
		mediaRange, parameters := cutUnquoted(element, ';')
		mediaRange = strings.ToLower(trim(mediaRange))
		weight, ok := weightOf(parameters)
		if mediaRange == "" || !ok {
			continue
		}
		for t := range names {
			if rank := slices.Index(names[t][:], mediaRange); rank >= 0 && rank < ranks[t] {
				ranks[t], q[t] = rank, weight
			}
		}
	}
	return q
}

// weightOf returns the parameter q in thousandths, 1000 if there is none, and false if it cannot be read.
func weightOf(parameters string) (int, bool) {
	for parameters != "" {
		var p string
		p, parameters = cutUnquoted(parameters, ';')
		name, value, _ := strings.Cut(p, "=")
		if strings.EqualFold(trim(name), "q") {
			return parseWeight(trim(value))
		}
	}
	return 1000, true
}

// parseWeight reads a qvalue: 0 to 1 with at most three decimals.
func parseWeight(s string) (int, bool) {
	whole, decimals, _ := strings.Cut(s, ".")
	if whole != "0" && whole != "1" || len(decimals) > 3 {
		return 0, false
	}
	q := int(whole[0] - '0')
	for i := range 3 {
		q *= 10
		if i < len(decimals) {
			if decimals[i] < '0' || decimals[i] > '9' {
				return 0, false
			}
			q += int(decimals[i] - '0')
		}
	}
	return q, q <= 1000
}

// cutUnquoted cuts s at the first separator outside of a quoted string.
func cutUnquoted(s string, separator byte) (before, after string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && c == separator:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

func trim(s string) string { return strings.Trim(s, " \t") }
