package clientip

import "strings"

// forNode returns the value of an element's parameter "for" (RFC 7239, 4), and
// false if it has none or several, or is not well-formed. A quoted value is
// returned as it stands between its quotes: addresses have nothing to escape.
func forNode(element string) (node string, ok bool) {
	for rest := element; rest != ""; {
		var p pair
		var wellFormed bool
		p, rest, wellFormed = cutPair(rest)
		if !wellFormed {
			return "", false
		}
		if strings.EqualFold(p.name, "for") {
			if ok {
				return "", false
			}
			node, ok = p.value, true
		}
	}
	return node, ok
}

// pair is a parameter of an element; both are empty between two semicolons.
type pair struct{ name, value string }

// cutPair returns the first pair of s and what follows its semicolon. White space
// around semicolons, which is not allowed, is passed over, and so is it where a
// value should have been quoted: for=[2001:db8::1] is common.
func cutPair(s string) (p pair, rest string, ok bool) {
	s = strings.TrimLeft(s, " \t")
	end := strings.IndexAny(s, `;="`)
	if end < 0 || s[end] == ';' {
		rest, ok = cutSemicolon(s)
		return pair{}, rest, ok
	}
	name, value, ok := strings.Cut(s, "=")
	if !ok || !isToken(name) {
		return pair{}, "", false
	}
	if quoted, found := strings.CutPrefix(value, `"`); found {
		end := closingQuote(quoted)
		if end < 0 {
			return pair{}, "", false
		}
		rest, ok = cutSemicolon(quoted[end+1:])
		return pair{name, quoted[:end]}, rest, ok
	}
	value, rest, _ = strings.Cut(value, ";")
	value = strings.TrimRight(value, " \t")
	return pair{name, value}, rest, value != "" && !strings.ContainsAny(value, "\" \t")
}

// cutSemicolon returns what follows the semicolon that s, but for white space,
// begins with. s may also have nothing else.
func cutSemicolon(s string) (rest string, ok bool) {
	s = strings.TrimLeft(s, " \t")
	rest, ok = strings.CutPrefix(s, ";")
	return rest, ok || s == ""
}

// closingQuote returns where the quoted string that s is in ends, or -1.
func closingQuote(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++ // the next is taken as it is
		case '"':
			return i
		}
	}
	return -1
}
