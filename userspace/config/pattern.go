package config

import (
	"net/url"
	"path"
	"regexp"
	"regexp/syntax"
	"strings"
)

// maxExpression bounds the length of a regular expression, in bytes.
const maxExpression = 4096

// maxSteps bounds what the expressions of a file are compiled to, each step taking some 100 bytes: 4 kB of
// repetitions can be half a million.
const maxSteps = 1 << 20

func (m mapping) match() Match {
	var t Match
	if h := m.field("host"); h.given() {
		t.Host = h.pattern(value.hostPattern)
	}
	if p := m.field("path"); p.given() {
		t.Path = p.pattern(value.pathPattern)
	}
	if f := m.field("method"); f.given() {
		t.Method = f.methods()
	}
	return t
}

// pattern reads a pattern: a regular expression, or what plain makes of it.
func (v value) pattern(plain func(v value, text string) Pattern) Pattern {
	text, ok := v.text()
	if !ok {
		return Pattern{}
	}
	expression, ok := strings.CutPrefix(text, "~ ")
	var p Pattern
	switch {
	case ok:
		p.Regexp = v.expression(strings.TrimSpace(expression))
	case strings.HasPrefix(text, "~*"):
		v.fail(`%.40q: a regular expression begins with "~ "; use "~ (?i)%.40s" to ignore case`, text, strings.TrimSpace(text[2:]))
	case strings.HasPrefix(text, "~"):
		v.fail(`%.40q: a regular expression begins with "~ "; use "~ %.40s"`, text, text[1:])
	case text != "*":
		p = plain(v, text)
	}
	p.Text = text
	return p
}

func (v value) expression(text string) *regexp.Regexp {
	if len(text) > maxExpression {
		v.fail("longer than %d characters; use a shorter expression", maxExpression)
		return nil
	}
	if text == "" {
		v.fail(`no expression after "~ "; use %s`, v.form)
		return nil
	}
	if !v.room(text) {
		v.fail("the expressions up to here have more than %d steps together, as x{1000} has 1000; use shorter ones, or fewer", maxSteps)
		v.file.stopped = true
		return nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		v.fail("%.120s; use an expression as https://github.com/google/re2/wiki/Syntax tells",
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re
}

// room counts the steps of an expression, and reports whether they are not too many for the file. One that is wrong has
// none.
func (v value) room(text string) bool {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return true
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return true
	}
	v.file.steps += len(program.Inst)
	return v.file.steps <= maxSteps
}

func (v value) pathPattern(text string) Pattern {
	begin, star := strings.CutSuffix(text, "*")
	switch {
	case strings.Contains(begin, "*"):
		v.fail(`%.40q: a * stands only at the end; use "~ ^%.80s$"`, text, asExpression(text))
	case star && !v.checkPath(begin, "x"), !star && !v.checkPath(text, ""):
	case star:
		return Pattern{Prefix: begin}
	default:
		if len(text) > 1 && strings.HasSuffix(text, "/") {
			v.warn(`%.80q matches this one path only; use "%.80s*" for all that is below`, text, text)
		}
		return Pattern{Exact: text}
	}
	return Pattern{}
}

// checkPath looks for what is never in the path of a request, also if rest follows.
func (v value) checkPath(text, rest string) bool {
	path, _, query := strings.Cut(text, "?")
	decoded, err := url.PathUnescape(text)
	switch {
	case !strings.HasPrefix(text, "/"):
		v.fail("%.40q does not begin with a slash; use /%.40s", text, text)
	case query:
		v.fail("%.40q has a query, and only the path is looked at; use %.40s", text, path)
	case err == nil && decoded != text:
		v.fail("%.40q: paths are looked at decoded; use %.40q", text, decoded)
	case cleanPath(text+rest) != text+rest:
		v.fail("%.40q: paths are looked at without empty and dotted parts; use %.40s", text, cleanPath(text))
	default:
		return true
	}
	return false
}

// cleanPath is path.Clean, but for a slash at the end, which is kept, and comes of "." and ".." there.
func cleanPath(text string) string {
	clean := path.Clean(text)
	switch text[strings.LastIndexByte(text, '/')+1:] {
	case "", ".", "..":
		if clean != "/" {
			clean += "/"
		}
	}
	return clean
}

func (v value) hostPattern(text string) Pattern {
	rest, star := strings.CutPrefix(text, "*.")
	switch {
	case rest == "":
		v.fail("%.40q: no host after the dot; use %s", text, v.form)
	case strings.HasPrefix(text, "."):
		v.fail(`%.40q: use "*%s" for the hosts below it, or "~ (^|\.)%.80s$" for it and those`, text, text, asExpression(text[1:]))
	case strings.Contains(rest, "*"):
		v.fail(`%.40q: a * stands only at the beginning, before a dot; use "~ ^%.80s$"`, text, asExpression(text))
	default:
		host, ok := v.host(rest)
		if ok && star {
			return Pattern{Suffix: "." + host}
		}
		if ok {
			return Pattern{Exact: host}
		}
	}
	return Pattern{}
}

// asExpression returns the regular expression of a text in which * is for anything.
func asExpression(text string) string {
	return strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, ".*")
}

// host returns a host as requests are looked at: in lower case, without a port and without
// the dot at the end of a full name.
func (v value) host(text string) (string, bool) {
	name, _, port := strings.Cut(text, ":")
	_, path, url := strings.Cut(text, "://")
	switch {
	case url:
		host, _, _ := strings.Cut(path, "/")
		v.fail("%.40q is a URL; use its host, %.40s", text, host)
	case port && !strings.HasPrefix(text, "[") && strings.Count(text, ":") == 1:
		v.fail("%.40q has a port, and hosts are looked at without; use %.40s", text, name)
	case text == "." || strings.ContainsAny(text, "/ "):
		v.fail("%.40q is not a host; use %s", text, v.form)
	case strings.ContainsFunc(text, func(c rune) bool { return c > '~' || c < ' ' }):
		v.fail("%.40q: requests have such hosts in ASCII; use the form that begins with xn--", text)
	default:
		return strings.ToLower(strings.TrimSuffix(text, ".")), true
	}
	return "", false
}

func (v value) methods() []string {
	elements, _ := v.oneOrMore("GET, POST or another method")
	var methods []string
	for _, e := range elements {
		if method, ok := e.method(); ok {
			methods = append(methods, method)
		}
	}
	return methods
}

func (v value) method() (string, bool) {
	text, ok := v.text()
	if ok && !isToken(text) {
		v.fail("%.40q is not a method; use %s", text, v.form)
		return "", false
	}
	return strings.ToUpper(text), ok
}
