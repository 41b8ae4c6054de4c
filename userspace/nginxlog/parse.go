package nginxlog

import (
	"bytes"
	"net/netip"
)

// kind is what a line can do to those that follow.
type kind int

const (
	rest    kind = iota // no beginning of a record: the rest of one
	own                 // about nginx itself: nothing of a client's is in it
	clean               // about a limit: it has no line break
	refusal             // as clean, and a client was refused
	suspect             // it has a line break only with evidence of that
	wild                // it may have any
)

// record is what the first line of a record says.
type record struct {
	kind   kind
	client netip.Addr // of a refusal; invalid for one on a unix socket
	zone   []byte     // of a refusal, a view of the line
	// nested says that the record also has a decoded path, of a subrequest: it is suspect too.
	nested bool
}

// parse reads a line without its line break.
func parse(line []byte) record {
	message, connection, ok := cutHead(line)
	switch {
	case !ok:
		return record{kind: rest}
	case !connection:
		return record{kind: own}
	}
	r, ok := parseLimit(message)
	switch {
	case ok:
		r.nested = bytes.Contains(message, []byte(`, subrequest: "`))
	case isCore(message):
		r.kind = suspect
	default:
		r.kind = wild
	}
	return r
}

// head is what a line begins with: 0 stands for a digit.
const head = "0000/00/00 00:00:00 ["

// cutHead returns what follows time, level, process and connection, and whether there is a connection.
func cutHead(line []byte) (message []byte, connection, ok bool) {
	if len(line) < len(head) {
		return nil, false, false
	}
	for i := range len(head) {
		if c := line[i]; head[i] == '0' && !isDigit(c) || head[i] != '0' && head[i] != c {
			return nil, false, false
		}
	}
	level, text, ok := bytes.Cut(line[len(head):], []byte("] "))
	if !ok || len(level) == 0 || len(level) > len("notice") {
		return nil, false, false
	}
	if text, ok = cutNumber(text, "#"); ok {
		text, ok = cutNumber(text, ": ")
	}
	if !ok || len(text) == 0 || text[0] != '*' {
		return text, false, ok
	}
	message, ok = cutNumber(text[1:], " ")
	return message, true, ok
}

// cutNumber returns what follows a number and an end.
func cutNumber(s []byte, end string) ([]byte, bool) {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	if n == 0 {
		return nil, false
	}
	return bytes.CutPrefix(s[n:], []byte(end))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// parseLimit reads a message about a limit. All that is read stands before what the client sent.
func parseLimit(message []byte) (record, bool) {
	for _, begin := range []string{"delaying request, ", "limiting requests, dry run, ", "limiting connections, dry run, "} {
		if bytes.HasPrefix(message, []byte(begin)) {
			return record{kind: clean}, true
		}
	}
	text, ok := bytes.CutPrefix(message, []byte("limiting connections "))
	if !ok {
		if text, ok = bytes.CutPrefix(message, []byte("limiting requests, excess: ")); !ok {
			return record{}, false
		}
		if text, ok = cutNumber(text, "."); ok {
			text, ok = cutNumber(text, " ")
		}
		if !ok {
			return record{}, false
		}
	}
	return parseWhom(text)
}

// parseWhom reads `by zone "x", client: 192.0.2.1, server: ` and so on. The name of a zone is nginx's own.
func parseWhom(text []byte) (record, bool) {
	text, ok := bytes.CutPrefix(text, []byte(`by zone "`))
	if !ok {
		return record{}, false
	}
	zone, text, ok := bytes.Cut(text, []byte(`", client: `))
	if !ok {
		return record{}, false
	}
	client, _, ok := bytes.Cut(text, []byte(", server: "))
	if !ok {
		return record{}, false
	}
	r := record{kind: refusal, zone: zone}
	if string(client) == "unix:" {
		return r, true
	}
	addr, err := netip.ParseAddr(string(client))
	r.client = addr.Unmap()
	return r, err == nil && addr.Zone() == ""
}

// isCore reports whether a message is one that nginx's core writes about a request in such a way that a line break in
// it is evident. Those with texts of an upstream, an application or a header field are not among them.
func isCore(message []byte) bool {
	for _, begin := range []string{
		`open() "`, `stat() "`, `lstat() "`, `opendir() "`, `"`, // files: "..." is not found, is forbidden
		`directory index of "`, "access forbidden by rule", "rewrite or internal redirection cycle",
		"connect() failed", "connect() to ", "recv() failed", "send() failed", "readv() failed", "writev() failed",
		"upstream timed out", "upstream prematurely closed", "no live upstreams", "auth request unexpected status",
		"SSL_", "peer closed connection", "client intended to send too large",
		"no user/password was provided", `user "`, // which ends before a colon, and the time of a line has some
	} {
		if bytes.HasPrefix(message, []byte(begin)) {
			return true
		}
	}
	return false
}

// hasBreak reports whether a line has a line break as a URL does, also one that is decoded twice.
func hasBreak(line []byte) bool {
	for {
		i := bytes.IndexByte(line, '%')
		if i < 0 {
			return false
		}
		line = line[i+1:]
		code := bytes.TrimPrefix(line, []byte("25"))
		if len(code) >= 2 && code[0] == '0' && code[1]|0x20 == 'a' {
			return true
		}
	}
}
