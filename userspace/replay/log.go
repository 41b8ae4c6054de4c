package replay

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// errNoRequest is for a line of what was no request, or none that a server passes on.
var errNoRequest = errors.New("no request")

// logParser reads lines of an access log. It remembers the time that it read last, as most lines have that
// of the line before.
type logParser struct {
	text string
	at   time.Duration
}

// parse reads a line into r, which is empty.
func (p *logParser) parse(line string, r *Request) error {
	rest, err := r.readPeer(line)
	if err != nil {
		return err
	}
	if rest, err = p.readTime(rest, r); err != nil {
		return err
	}
	request, rest, ok := quoted(rest)
	if !ok {
		return errors.New(`no "request" in quotes behind the time`)
	}
	if rest, err = statusAndSize(rest); err != nil {
		return err
	}
	r.readFields(rest)
	return r.readRequest(request)
}

// readPeer reads the address at the start of the line, or behind the virtual host. That may be an address too, of
// the client's choice. In its place the other formats have the name that the client's identd tells, which is no address.
func (r *Request) readPeer(line string) (rest string, err error) {
	first, rest, _ := strings.Cut(line, " ")
	second, behind, _ := strings.Cut(rest, " ")
	if second != "-" {
		if addr, ok := peer(second); ok {
			r.Host, r.Peer = first, addr
			return behind, nil
		}
	}
	addr, ok := peer(first)
	if !ok {
		return "", fmt.Errorf("%.60q is not an address, and neither is what follows it; the log must be in the format common or combined or nginx's main, with addresses rather than names", first)
	}
	r.Peer = addr
	return rest, nil
}

// timeLength is that of 29/Nov/2026:12:00:00 +0000.
const timeLength = 26

// readTime reads the time in brackets. In front of it is the user's name, in which there may be anything but a quote:
// a time as well, but not one with the request behind it.
func (p *logParser) readTime(s string, r *Request) (rest string, err error) {
	err = errors.New("no time in brackets; it is like [29/Nov/2026:12:00:00 +0000]")
	for {
		_, after, found := strings.Cut(s, "[")
		if !found {
			return "", err
		}
		if len(after) > timeLength && after[timeLength] == ']' && p.time(after[:timeLength]) {
			if rest = after[timeLength+1:]; strings.HasPrefix(rest, ` "`) {
				r.At = p.at
				return rest, nil
			}
			err = errors.New(`no "request" in quotes behind the time`)
		}
		s = after
	}
}

// time reads a time into p, which keeps what it had if it is none.
func (p *logParser) time(s string) bool {
	if s == p.text {
		return true
	}
	at, ok := logTime(s)
	if ok {
		p.text, p.at = s, at
	}
	return ok
}

// logTime reads 29/Nov/2026:12:00:00 +0000, and returns the time since 1970.
func logTime(s string) (time.Duration, bool) {
	t, err := time.Parse("02/Jan/2006:15:04:05 -0700", s)
	if err != nil {
		return 0, false
	}
	seconds := time.Duration(t.Unix())
	if seconds > latest/time.Second || seconds < -latest/time.Second {
		return 0, false
	}
	return seconds * time.Second, true
}

// quoted reads a text in quotes behind a space, and undoes its escapes.
func quoted(s string) (text, rest string, ok bool) {
	s, ok = strings.CutPrefix(s, ` "`)
	if !ok {
		return "", s, false
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return unescaped(s[:i]), s[i+1:], true
		case '\\':
			i++
		}
	}
	return "", s, false
}

// unescaped undoes the escapes of nginx, \x22, and of Apache, which has \", \\ and \n too.
func unescaped(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for s != "" {
		var c byte
		c, s = unescape(s)
		b = append(b, c)
	}
	return string(b)
}

// unescape returns the byte that s begins with, and what follows it. An escape that is none stands for itself.
func unescape(s string) (byte, string) {
	if s[0] != '\\' || len(s) == 1 {
		return s[0], s[1:]
	}
	if s[1] == 'x' && len(s) >= 4 {
		if c, err := strconv.ParseUint(s[2:4], 16, 8); err == nil {
			return byte(c), s[4:]
		}
	}
	if i := strings.IndexByte(`"\btnvfr`, s[1]); i >= 0 {
		return "\"\\\b\t\n\v\f\r"[i], s[2:]
	}
	return s[0], s[1:]
}

// statusAndSize goes over the status and the size of the answer. Either may be "-".
func statusAndSize(s string) (rest string, err error) {
	for _, name := range [...]string{"status", "size of the answer"} {
		s, _ = strings.CutPrefix(s, " ")
		word, _, _ := strings.Cut(s, " ")
		if _, ok := digits(word, 0); !ok && word != "-" {
			return "", fmt.Errorf("no %s behind the request, but %.40q", name, word)
		}
		s = s[len(word):]
	}
	return s, nil
}

// readFields reads the header fields that the line ends with, of which any may be lacking.
func (r *Request) readFields(s string) {
	for _, name := range [...]string{"Referer", "User-Agent", "X-Forwarded-For"} {
		value, rest, ok := quoted(s)
		if !ok {
			return
		}
		if value != "-" && value != "" {
			r.add(name, value)
		}
		s = rest
	}
}

// readRequest reads the request line, such as GET /x?a=1 HTTP/1.1. Of the oldest there is no version.
func (r *Request) readRequest(s string) error {
	method, target, ok := strings.Cut(s, " ")
	if !ok || !isToken(method) {
		return errNoRequest
	}
	target, version, versioned := strings.Cut(target, " ")
	if versioned && !strings.HasPrefix(version, "HTTP/") || strings.ContainsFunc(target, isControl) {
		return errNoRequest
	}
	r.Method = method
	return r.readTarget(target)
}

func isControl(c rune) bool { return c < ' ' || c == 0x7f }

// isToken reports whether s may be a method.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// readTarget reads what net/http would make of a target, into the host, path and query.
func (r *Request) readTarget(target string) error {
	scheme, behind, absolute := strings.Cut(target, "://")
	switch {
	case target == "":
		return errNoRequest
	case target == "*" && r.Method == http.MethodOptions:
		r.Path = target
		return nil
	case r.Method == http.MethodConnect && target[0] != '/':
		r.Host, r.Path = target, ""
		return nil
	case target[0] == '/':
	case absolute && isToken(scheme):
		end := strings.IndexAny(behind, "/?")
		if end < 0 {
			end = len(behind)
		}
		r.Host, target = behind[:end], behind[end:]
	default:
		return errNoRequest
	}
	path, query, _ := strings.Cut(target, "?")
	if strings.IndexByte(path, '%') >= 0 {
		decoded, err := url.PathUnescape(path)
		if err != nil {
			return errNoRequest // net/http refuses it
		}
		path = decoded
	}
	r.Path, r.RawQuery = path, query
	return nil
}
