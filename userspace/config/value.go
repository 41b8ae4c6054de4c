package config

import (
	"cmp"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/headgate/headgate/userspace/rate"
)

// value is a node of the file, or the absence of one.
type value struct {
	file    *reader
	node    *yaml.Node // nil if absent
	parent  *yaml.Node // if absent, where it would be
	path    string     // "" at the root
	form    string     // what to write there, for errors
	aliased bool       // it was reached through an alias
}

// child returns a value within v. It looks through an alias.
func (v value) child(node *yaml.Node, path, form string) value {
	c := value{file: v.file, node: node, path: path, form: form, aliased: v.aliased}
	if node.Kind == yaml.AliasNode {
		c.node, c.aliased = node.Alias, true
	}
	if c.aliased {
		c.repeat()
	}
	return c
}

func (v value) given() bool { return v.node != nil }

func (v value) problem(format string, args ...any) Problem {
	p := Problem{Path: v.path, Text: fmt.Sprintf(format, args...)}
	if at := cmp.Or(v.node, v.parent); at != nil {
		p.Line, p.Column = at.Line, at.Column
	}
	return p
}

func (v value) fail(format string, args ...any) { v.file.add(v.problem(format, args...)) }

func (v value) warn(format string, args ...any) {
	v.file.warnings = append(v.file.warnings, v.file.own(v.problem(format, args...)))
}

// null reports whether nothing is written where a value should be.
func (v value) null() bool {
	return v.node.Kind == yaml.ScalarNode && v.node.Tag == "!!null"
}

// is reports whether v is of that kind, and adds an error if not.
func (v value) is(kind yaml.Kind) bool {
	switch {
	case v.node.Style&yaml.TaggedStyle != 0:
		v.fail("tag %.40s is unknown, as all are; use %s", v.node.Tag, v.form)
	case v.null():
		v.fail("no value; use %s", v.form)
	case v.node.Kind != kind:
		v.fail("got a %s; use %s", kindName(v.node.Kind), v.form)
	default:
		return true
	}
	return false
}

func kindName(k yaml.Kind) string {
	switch k {
	case yaml.MappingNode:
		return "mapping"
	case yaml.SequenceNode:
		return "list"
	default:
		return "single value"
	}
}

// text returns a single value as it is written, without quotes.
func (v value) text() (string, bool) {
	if !v.is(yaml.ScalarNode) {
		return "", false
	}
	if v.node.Value == "" {
		v.fail("empty; use %s", v.form)
		return "", false
	}
	return v.node.Value, true
}

// count returns a number of at least low and at most high, 0 if it is wrong.
func (v value) count(low, high uint64) uint64 {
	n, ok := v.number(rate.ParseCount, rate.FormatCount(low))
	switch {
	case !ok:
		return 0
	case n < low || n > high:
		v.fail("%d is out of range; use %s to %s", n, rate.FormatCount(low), rate.FormatCount(high))
		return 0
	default:
		return n
	}
}

// number returns what parse, of package rate, makes of a text. lowest is the least that is right.
func (v value) number(parse func(string) (uint64, error), lowest string) (uint64, bool) {
	text, ok := v.text()
	if !ok {
		return 0, false
	}
	n, err := parse(text)
	switch {
	case negative(text):
		v.fail("%.40q is negative; use %s or more", text, lowest)
	case err != nil:
		v.fail("%s", bare(err))
	case len(text) > 1 && strings.HasPrefix(text, "0") && !strings.HasPrefix(text, "0."):
		v.fail("%q is octal to some; use %d", text, n)
	default:
		return n, true
	}
	return 0, false
}

// negative reports whether text begins as a number below 0.
func negative(text string) bool {
	number, minus := strings.CutPrefix(text, "-")
	return minus && number != "" && number[0] >= '0' && number[0] <= '9'
}

// bare cuts off the first word of an error of package rate, which tells what was read: the
// path of the field tells that already.
func bare(err error) string {
	text := err.Error()
	for _, kind := range []string{"rate ", "count ", "size ", "burst "} {
		text = strings.TrimPrefix(text, kind)
	}
	return text
}

// flag returns true or false.
func (v value) flag() bool {
	text, ok := v.text()
	if !ok {
		return false
	}
	switch text {
	case "true":
		return true
	case "false":
		return false
	}
	v.fail("%.40q is neither true nor false; use %s", text, v.form)
	return false
}

// list returns the elements of a list. form is what to write for one.
func (v value) list(form string) ([]value, bool) {
	if !v.is(yaml.SequenceNode) {
		return nil, false
	}
	var elements []value
	for i, n := range v.node.Content {
		if v.file.stopped {
			return nil, false
		}
		elements = append(elements, v.child(n, fmt.Sprintf("%s[%d]", v.path, i), form))
	}
	return elements, true
}

// oneOrMore returns the elements of a list that is not empty, or what is no list as its only
// element. form is what to write for an element of a list.
func (v value) oneOrMore(form string) ([]value, bool) {
	if v.node.Kind != yaml.SequenceNode {
		return []value{v}, true
	}
	elements, ok := v.list(form)
	if ok && len(elements) == 0 {
		v.fail("empty; use %s", v.form)
		return nil, false
	}
	return elements, ok
}

// isMapping reports whether v is a mapping without a tag. What it is otherwise is looked at where it is read.
func (v value) isMapping() bool {
	return v.node.Kind == yaml.MappingNode && v.node.Style&yaml.TaggedStyle == 0
}
