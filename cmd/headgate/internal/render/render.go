// Package render prints what headgate's commands have to say, as a table for people or as JSON for
// programs. The JSON names of the views' fields are a contract: fields are added, never renamed.
//
// The package knows nothing of where the values come from, and it reads no clock.
package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
)

// Format is how a view is written.
type Format uint8

// The formats.
const (
	Table Format = iota
	JSON
)

var formatNames = [...]string{Table: "table", JSON: "json"}

// String returns "table" or "json".
func (f Format) String() string {
	if int(f) < len(formatNames) {
		return formatNames[f]
	}
	return fmt.Sprintf("format %d", uint8(f))
}

// ParseFormat is the inverse of Format.String.
func ParseFormat(s string) (Format, error) {
	if i := slices.Index(formatNames[:], s); i >= 0 {
		return Format(i), nil
	}
	return 0, fmt.Errorf("output %q: use table or json", s)
}

// View is something to print. Its JSON is what encoding/json makes of it.
type View interface {
	// Table writes the view for people to read.
	Table(p *Page)
}

// list is a view whose JSON is an array.
type list interface {
	elements() iter.Seq[any]
}

// Write writes a view with a newline at its end. An array has an element on each line, so that
// a long one can be searched by line; anything else is indented. It returns the error of w.
func Write(w io.Writer, f Format, v View) error {
	if f == Table {
		var p Page
		v.Table(&p)
		_, err := p.text.WriteTo(w)
		return err
	}
	if l, ok := v.(list); ok {
		return writeLines(w, l.elements())
	}
	return encoder(w, "  ").Encode(v)
}

func writeLines(w io.Writer, elements iter.Seq[any]) error {
	var b bytes.Buffer
	line := encoder(&b, "")
	separator := "["
	for e := range elements {
		b.WriteString(separator + "\n")
		if err := line.Encode(e); err != nil {
			return err
		}
		b.Truncate(b.Len() - len("\n"))
		separator = ","
	}
	if separator == "[" {
		b.WriteString("[]\n")
	} else {
		b.WriteString("\n]\n")
	}
	_, err := b.WriteTo(w)
	return err
}

func encoder(w io.Writer, indent string) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	return e
}

// elementsOf is the values of a slice as a list has them.
func elementsOf[T any](s []T) iter.Seq[any] {
	return func(yield func(any) bool) {
		for _, e := range s {
			if !yield(e) {
				return
			}
		}
	}
}
