package ruleset

import (
	"strings"
	"unsafe"

	"github.com/headgate/headgate/userspace/percent"
)

// header returns the first value of a header field that is not empty. name is canonical.
func header(v *view, name string) string {
	for _, value := range v.Header[name] {
		if value != "" {
			return value
		}
	}
	return ""
}

// cookie returns the first value of a cookie that is not empty, without quotes, as net/http reads
// it (RFC 6265, 5.4 and 4.1.1). net/http passes over values with bytes that are not allowed, which others
// take: such a value only counts if there is no other, or it would hide from the limit the one that the handler sees.
func cookie(v *view, name string) string {
	odd := ""
	for _, line := range v.Header["Cookie"] {
		for more := true; more; {
			var pair string
			pair, line, more = strings.Cut(line, ";")
			key, value, _ := strings.Cut(pair, "=")
			if strings.Trim(key, " \t") != name {
				continue
			}
			value = unquoted(strings.Trim(value, " \t"))
			switch {
			case value == "":
			case isCookieValue(value):
				return value
			case odd == "":
				odd = value
			}
		}
	}
	return odd
}

// isCookieValue reports whether net/http takes s for the value of a cookie.
func isCookieValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func unquoted(s string) string {
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

// query returns the first value of a query argument that is not empty, decoded. A value that
// had to be decoded is a view of what is appended to buf. net/url leaves out arguments with a semicolon or with an
// escape that is none, which others take: such a one only counts if there is no other, as with cookies.
func query(rawQuery, name string, buf []byte) (string, []byte) {
	odd := ""
	for more := true; more; {
		var pair string
		pair, rawQuery, more = strings.Cut(rawQuery, "&")
		key, value, _ := strings.Cut(pair, "=")
		switch {
		case value == "" || !decodesTo(key, name):
		case isArgument(pair):
			return decoded(value, buf)
		case odd == "":
			odd = value
		}
	}
	return decoded(odd, buf)
}

// isArgument reports whether net/url takes s for an argument.
func isArgument(s string) bool {
	for i := range len(s) {
		if _, n := percent.Decode(s[i:]); s[i] == ';' || s[i] == '%' && n == 1 {
			return false
		}
	}
	return true
}

// decodesTo reports whether s is name when it is decoded.
func decodesTo(s, name string) bool {
	for i := range len(name) {
		if s == "" {
			return false
		}
		c, n := unescape(s)
		if c != name[i] {
			return false
		}
		s = s[n:]
	}
	return s == ""
}

func decoded(s string, buf []byte) (string, []byte) {
	if strings.IndexByte(s, '%') < 0 && strings.IndexByte(s, '+') < 0 {
		return s, buf
	}
	from := len(buf)
	for s != "" {
		c, n := unescape(s)
		buf = append(buf, c)
		s = s[n:]
	}
	return text(buf[from:]), buf
}

// unescape returns the first byte of what s stands for, and by how many of s it is
// written. s is not empty.
func unescape(s string) (byte, int) {
	if s[0] == '+' {
		return ' ', 1
	}
	return percent.Decode(s)
}

// text returns a view of b, which must not be changed while it is used.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
