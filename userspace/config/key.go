package config

import (
	"net/http"
	"slices"
	"strings"
)

// keyParts returns what a key is made of.
func (v value) keyParts() []KeyPart {
	elements, ok := v.oneOrMore(either(keyForms()))
	if !ok {
		return nil
	}
	var parts []KeyPart
	for _, e := range elements {
		part, ok := e.keyPart()
		switch {
		case !ok:
			return nil
		case slices.Contains(parts, part):
			e.fail("%.80s is in the key already; remove one", part)
			return nil
		}
		parts = append(parts, part)
	}
	return parts
}

// keyForms returns how each kind of part is written.
func keyForms() []string {
	return []string{"ip", "header:NAME", "cookie:NAME", "query:NAME", "host", "path", "method", "const:TEXT"}
}

func (v value) keyPart() (KeyPart, bool) {
	text, ok := v.text()
	if !ok {
		return KeyPart{}, false
	}
	kind, name, named := strings.Cut(text, ":")
	p := KeyPart{Kind: KeyKind(kind), Name: name}
	takes, known := nameOf(p.Kind)
	switch {
	case !known:
		v.fail("unknown part of a key %s", choices(text, keyForms()))
	case takes == "" && named:
		v.fail("%.40q: %s is not followed by a name; use %s", text, kind, kind)
	case takes != "" && name == "":
		v.fail("%.40q: no %s; use %s:%s", text, strings.ToLower(takes), kind, takes)
	case (p.Kind == KeyHeader || p.Kind == KeyCookie) && !isToken(name):
		v.fail("%.40q: %.40q cannot be the name of a %s; use letters, digits and dashes", text, name, kind)
	default:
		return p.canonical(), true
	}
	return KeyPart{}, false
}

// nameOf returns what a kind of part is followed by, "" if by nothing.
func nameOf(k KeyKind) (takes string, known bool) {
	switch k {
	case KeyIP, KeyHost, KeyPath, KeyMethod:
		return "", true
	case KeyHeader, KeyCookie, KeyQuery:
		return "NAME", true
	case KeyConst:
		return "TEXT", true
	default:
		return "", false
	}
}

// canonical returns p with the name of a header field as net/http writes it.
func (p KeyPart) canonical() KeyPart {
	if p.Kind == KeyHeader {
		p.Name = http.CanonicalHeaderKey(p.Name)
	}
	return p
}

// String returns the part as it is written in the file.
func (p KeyPart) String() string {
	if p.Name == "" {
		return string(p.Kind)
	}
	return string(p.Kind) + ":" + p.Name
}
