package ruleset

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"unsafe"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/config"
)

// longest is how many bytes of a part a key has as they are.
const longest = 256

// part is one of the things that a key is made of.
type part struct {
	kind config.KeyKind
	name string
	// take returns the text of the part, empty if the request lacks it, and buf with
	// what the text is a view of. nil for the client's address.
	take func(v *view, name string, buf []byte) (string, []byte)
	// optional reports that a request may lack the part.
	optional bool
}

func newPart(p config.KeyPart) (part, error) {
	switch p.Kind {
	case config.KeyIP:
		return part{kind: p.Kind}, nil
	case config.KeyHost:
		return part{kind: p.Kind, take: takeHost}, nil
	case config.KeyPath:
		return part{kind: p.Kind, take: takePath}, nil
	case config.KeyMethod:
		return part{kind: p.Kind, take: takeMethod}, nil
	case config.KeyConst:
		return part{kind: p.Kind, name: p.Name, take: takeName}, nil
	}
	return newArgument(p)
}

// newArgument returns a part that a request may lack.
func newArgument(p config.KeyPart) (part, error) {
	if p.Name == "" {
		return part{}, fmt.Errorf("key part %q has no name; write %s:NAME", p.Kind, p.Kind)
	}
	a := part{kind: p.Kind, name: p.Name, optional: true}
	switch p.Kind {
	case config.KeyHeader:
		a.name = http.CanonicalHeaderKey(p.Name)
		a.take = takeHeader
		if a.name == "Host" { // net/http takes it out of the header
			a.take = takeHost
		}
	case config.KeyCookie:
		a.take = takeCookie
	case config.KeyQuery:
		a.take = takeQuery
	default:
		return part{}, fmt.Errorf("key part %q is unknown; use ip, header, cookie, query, host, path, method or const", p.Kind)
	}
	return a, nil
}

func newParts(key []config.KeyPart) ([]part, error) {
	if len(key) == 0 {
		return nil, errors.New("the key has no part; use const:TEXT for one that all requests share")
	}
	parts := make([]part, len(key))
	addresses := 0
	for i, p := range key {
		var err error
		if parts[i], err = newPart(p); err != nil {
			return nil, err
		}
		if p.Kind == config.KeyIP {
			addresses++
		}
	}
	if addresses > 1 {
		return nil, errors.New("the key has ip more than once; leave one")
	}
	return parts, nil
}

func takeHost(v *view, _ string, buf []byte) (string, []byte)   { return v.host, buf }
func takePath(v *view, _ string, buf []byte) (string, []byte)   { return v.path, buf }
func takeMethod(v *view, _ string, buf []byte) (string, []byte) { return v.Method, buf }
func takeName(_ *view, name string, buf []byte) (string, []byte) {
	return name, buf
}

func takeHeader(v *view, name string, buf []byte) (string, []byte) { return header(v, name), buf }
func takeCookie(v *view, name string, buf []byte) (string, []byte) { return cookie(v, name), buf }
func takeQuery(v *view, name string, buf []byte) (string, []byte) {
	return query(v.RawQuery, name, buf)
}

// read appends to texts what the parts are in v, long ones shortened; what they are views of is
// appended to buf. The text of the client's address is empty. why is empty unless one is lacking.
func read(parts []part, v *view, texts []string, buf []byte) (_ []string, _ []byte, why Why) {
	for i := range parts {
		p := &parts[i]
		var s string
		switch {
		case p.take != nil:
			s, buf = p.take(v, p.name, buf)
		case !v.client.IsValid():
			return texts, buf, Unknown
		}
		switch {
		case s == "" && p.optional:
			return texts, buf, Absent
		case len(s) > longest:
			s, buf = shortened(s, buf)
		}
		texts = append(texts, s)
	}
	return texts, buf, ""
}

// shortened returns the beginning of s and the SHA-256 of it in hexadecimal, as a view of what is
// appended to buf. It is one byte longer than longest, as no text is that is kept as it stands: so
// it is the key of no other text, and nobody can find two with the same.
func shortened(s string, buf []byte) (string, []byte) {
	sum := sha256.Sum256(unsafe.Slice(unsafe.StringData(s), len(s)))
	from := len(buf)
	buf = append(buf, s[:longest-2*len(sum)]...)
	buf = append(buf, '~')
	buf = hex.AppendEncode(buf, sum[:])
	return text(buf[from:]), buf
}

// appendKey appends the key of texts, with client where the client's address is.
func appendKey(dst []byte, parts []part, texts []string, client netip.Prefix) []byte {
	for i := range parts {
		if parts[i].take == nil {
			dst = clientip.AppendPrefix(dst, client)
		} else {
			dst = clientip.AppendPart(dst, texts[i])
		}
	}
	return dst
}
