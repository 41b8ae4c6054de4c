package replay

import (
	"strings"
	"unicode/utf8"
)

// scanner reads JSON as most recordings have it: flat, and without \u. It gives up on anything else.
type scanner struct {
	s string
	i int
}

// The fields of a trace as bits, to find one that is there twice.
const (
	hasTime = 1 << iota
	hasTook
	hasIP
	hasMethod
	hasHost
	hasPath
	hasQuery
	hasHeaders
)

// scanTrace reads a line of a trace as decodeTrace does, in a tenth of the time, or reports false. Then r has
// something of it.
func scanTrace(line string, r *Request, n names) bool {
	s := scanner{s: line}
	var seen int
	ok := s.object(func(name string) bool {
		bit, ok := s.field(name, r, n)
		ok = ok && seen&bit == 0
		seen |= bit
		return ok
	})
	s.space()
	if !ok || s.i != len(s.s) || seen&(hasTime|hasIP) != hasTime|hasIP {
		return false
	}
	r.complete()
	return true
}

// field reads the value of a field, and returns its bit.
func (s *scanner) field(name string, r *Request, n names) (bit int, ok bool) {
	switch name {
	case "t_ms":
		return hasTime, s.time(r)
	case "took_ms":
		return hasTook, s.took(r)
	case "ip":
		return hasIP, s.peer(r)
	case "method":
		return hasMethod, s.textTo(&r.Method)
	case "host":
		return hasHost, s.textTo(&r.Host)
	case "path":
		return hasPath, s.textTo(&r.Path)
	case "query":
		return hasQuery, s.textTo(&r.RawQuery)
	case "headers":
		return hasHeaders, s.headers(r, n)
	}
	return 0, s.skip()
}

func (s *scanner) time(r *Request) bool {
	number, ok := s.number()
	if !ok {
		return false
	}
	var err error
	r.At, err = milliseconds(number)
	return err == nil
}

func (s *scanner) took(r *Request) bool {
	number, ok := s.number()
	if !ok {
		return false
	}
	var err error
	r.Took, err = milliseconds(number)
	return err == nil && r.Took >= 0
}

func (s *scanner) peer(r *Request) bool {
	text, ok := s.text()
	if !ok {
		return false
	}
	r.Peer, ok = peer(text)
	return ok
}

func (s *scanner) headers(r *Request, n names) bool {
	return s.object(func(name string) bool {
		value, ok := s.text()
		if !ok {
			return false
		}
		name = n.canonical(name)
		if _, twice := r.Header[name]; twice {
			return false
		}
		r.add(name, value)
		return true
	})
}

// object reads an object; member reads the value of each name.
func (s *scanner) object(member func(name string) bool) bool {
	if !s.is('{') {
		return false
	}
	if s.is('}') {
		return true
	}
	for {
		name, ok := s.text()
		if !ok || !s.is(':') || !member(name) {
			return false
		}
		if s.is('}') {
			return true
		}
		if !s.is(',') {
			return false
		}
	}
}

// is goes over white space and then c, if it is next.
func (s *scanner) is(c byte) bool {
	s.space()
	if s.i < len(s.s) && s.s[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *scanner) space() {
	for s.i < len(s.s) && (s.s[s.i] == ' ' || s.s[s.i] == '\t' || s.s[s.i] == '\r' || s.s[s.i] == '\n') {
		s.i++
	}
}

// text reads a text without \u.
func (s *scanner) text() (string, bool) {
	if !s.is('"') {
		return "", false
	}
	from, all := s.i, byte(0)
	escaped := false
	for ; s.i < len(s.s); s.i++ {
		switch c := s.s[s.i]; {
		case c == '"':
			s.i++
			return plain(s.s[from:s.i-1], escaped, all >= utf8.RuneSelf)
		case c < ' ':
			return "", false
		case c == '\\':
			escaped = true
			s.i++
		default:
			all |= c
		}
	}
	return "", false
}

// plain returns what s, in front of whose end there is no quote, stands for. It gives up on what is not UTF-8, which
// decodeTrace replaces.
func plain(s string, escaped, wide bool) (string, bool) {
	switch {
	case wide && !utf8.ValidString(s):
		return "", false
	case !escaped:
		return s, true
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b = append(b, s[i])
			continue
		}
		i++
		which := strings.IndexByte(`"\/bfnrt`, s[i]) // there is one, as s does not end in an odd number of them
		if which < 0 {
			return "", false
		}
		b = append(b, "\"\\/\b\f\n\r\t"[which])
	}
	return string(b), true
}

func (s *scanner) textTo(to *string) (ok bool) {
	*to, ok = s.text()
	return ok
}

// number reads what may be a number without an exponent.
func (s *scanner) number() (string, bool) {
	s.space()
	from := s.i
	for s.i < len(s.s) && strings.IndexByte("-.0123456789", s.s[s.i]) >= 0 {
		s.i++
	}
	return s.s[from:s.i], s.i > from
}

// skip goes over a text, a number or a word.
func (s *scanner) skip() bool {
	s.space()
	rest := s.s[s.i:]
	for _, word := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(rest, word) {
			s.i += len(word)
			return true
		}
	}
	if strings.HasPrefix(rest, `"`) {
		_, ok := s.text()
		return ok
	}
	number, ok := s.number()
	if !ok {
		return false
	}
	_, ok = decimal(number)
	return ok
}
