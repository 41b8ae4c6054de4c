package config

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/headgate/headgate/userspace/rate"
)

// mapping is a section with known fields.
type mapping struct {
	value
	fields map[string]value // those that are given
	flawed bool             // it has something else, too
}

// entry is a name and its value in a mapping.
type entry struct {
	key, value value
	name       string
}

// mapping returns a section that has only those fields.
func (v value) mapping(fields []Field) (mapping, bool) {
	return v.mappingOr(fields, func(name string) string {
		return "unknown field " + choices(name, names(fields))
	})
}

// mappingOr does what mapping does, with its own words for a field that is unknown.
func (v value) mappingOr(fields []Field, unknown func(name string) string) (mapping, bool) {
	before := len(v.file.errors)
	entries, ok := v.entries()
	if !ok {
		return mapping{}, false
	}
	m := mapping{value: v, fields: make(map[string]value, len(entries))}
	for _, e := range entries {
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Path == e.name })
		if i < 0 {
			e.key.fail("%s", unknown(e.name))
			continue
		}
		e.value.form = fields[i].Form
		m.fields[e.name] = e.value
	}
	m.flawed = len(v.file.errors) > before
	return m, true
}

// entries returns what a mapping maps, in the order of the file, each name once.
func (v value) entries() ([]entry, bool) {
	if !v.is(yaml.MappingNode) {
		return nil, false
	}
	var entries []entry
	first := make(map[string]int) // line of a name
	for i := 0; i+1 < len(v.node.Content) && !v.file.stopped; i += 2 {
		e, ok := v.entry(v.node.Content[i], v.node.Content[i+1])
		if !ok {
			continue
		}
		if line, twice := first[e.name]; twice {
			e.key.fail("given twice, first in line %d; remove one", line)
			continue
		}
		first[e.name] = e.key.node.Line
		entries = append(entries, e)
	}
	return entries, true
}

// entry returns a name and its value.
func (v value) entry(key, of *yaml.Node) (entry, bool) {
	k := v.child(key, v.path, "a name")
	if k.node.Tag == "!!merge" {
		k.fail("fields cannot be merged by <<; write them out, or give the whole value as *NAME")
		return entry{}, false
	}
	name, ok := k.text()
	if !ok {
		return entry{}, false
	}
	k.path = join(v.path, name)
	return entry{key: k, value: v.child(of, k.path, ""), name: name}, true
}

// join returns the path of a field, in which a name with other characters than usual is quoted.
func join(path, name string) string {
	if strings.ContainsFunc(name, unusual) || len(name) > maxName {
		return fmt.Sprintf("%s[%.40q]", path, name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// field returns a field, which may be absent.
func (m mapping) field(name string) value {
	if v, ok := m.fields[name]; ok {
		return v
	}
	return value{file: m.file, parent: m.node, path: join(m.path, name)}
}

// lack adds an error for a field that is needed and not given, at v. It does not where
// another field is wrong: that may be the one, misspelt.
func (m mapping) lack(v value, text string) {
	if !m.flawed {
		v.fail("%s", text)
	}
}

// has reports whether a field is given.
func (m mapping) has(name string) bool { return m.field(name).given() }

// count returns a number of at least low and at most high, or otherwise if it is not given.
func (m mapping) count(name string, low, high, otherwise uint64) uint64 {
	v := m.field(name)
	if !v.given() {
		return otherwise
	}
	return v.count(low, high)
}

// size returns a number of bytes of at least low and at most high, 0 if it is wrong.
func (m mapping) size(name string, low, high, otherwise uint64) uint64 {
	v := m.field(name)
	if !v.given() {
		return otherwise
	}
	n, ok := v.number(rate.ParseSize, rate.FormatSize(low))
	if ok && (n < low || n > high) {
		v.fail("%s is out of range; use %s to %s", rate.FormatSize(n), rate.FormatSize(low), rate.FormatSize(high))
		return 0
	}
	return n
}

// flag returns true or false, which it is if it is not given.
func (m mapping) flag(name string) bool {
	v := m.field(name)
	return v.given() && v.flag()
}

// text returns a text, empty if it is not given.
func (m mapping) text(name string) string {
	v := m.field(name)
	if !v.given() {
		return ""
	}
	text, _ := v.text()
	return text
}

// lastOf returns the name of the field of a path.
func lastOf(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// choice returns one of these texts, or otherwise if it is not given or wrong.
func (m mapping) choice(name string, all []string, otherwise string) string {
	v := m.field(name)
	if !v.given() {
		return otherwise
	}
	text, ok := v.text()
	switch {
	case !ok:
	case !slices.Contains(all, text):
		v.fail("unknown %s %s", name, choices(text, all))
	default:
		return text
	}
	return otherwise
}
