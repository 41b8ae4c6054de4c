package config

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// MaxSize is the size of the largest file that is read, in bytes.
const MaxSize = 4 << 20

// Read reads a configuration file. name is what errors call it; they are those of Parse, or
// wrap that of r.
func Read(name string, r io.Reader) (*File, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return Parse(name, data)
}

// Parse reads the text of a configuration file. name is what errors call it. The error is an
// Errors with everything that is wrong. A file that says nothing is right, and limits nothing.
func Parse(name string, data []byte) (*File, error) {
	r := &reader{name: name}
	var file *File
	if root, ok := r.document(data); ok {
		file = r.read(root)
	}
	if len(r.errors) > 0 {
		sortByPosition(r.errors)
		return nil, r.errors
	}
	sortByPosition(r.warnings)
	file.Warnings = r.warnings
	return file, nil
}

// document returns the root of the only document in data.
func (r *reader) document(data []byte) (value, bool) {
	if len(data) > MaxSize {
		r.add(Problem{Text: fmt.Sprintf("larger than %d MiB; use a smaller file", MaxSize>>20)})
		return value{}, false
	}
	if line, column, ok := firstInvalid(data); ok {
		r.add(Problem{Line: line, Column: column, Text: "not UTF-8; save the file as UTF-8"})
		return value{}, false
	}
	return r.parse(data)
}

// firstInvalid returns the position of the first byte that is not UTF-8.
func firstInvalid(data []byte) (line, column int, found bool) {
	if utf8.Valid(data) {
		return 0, 0, false
	}
	line, column = 1, 1
	for {
		c, size := utf8.DecodeRune(data)
		switch {
		case c == utf8.RuneError && size <= 1:
			return line, column, true
		case c == '\n':
			line, column = line+1, 1
		default:
			column++
		}
		data = data[size:]
	}
}

// parse returns the root of the only document in data, which is UTF-8.
func (r *reader) parse(data []byte) (value, bool) {
	documents, err := parseYAML(data)
	if err != nil {
		r.add(syntaxProblem(data, err))
		return value{}, false
	}
	switch len(documents) {
	case 0:
		return value{file: r}, true
	case 1:
		return value{file: r}.child(documents[0].Content[0], "", "sections: "+either(names(fileFields()))), true
	default:
		at := value{file: r}.child(documents[1], "", "")
		at.fail("a second document; write all in one, without a line of ---")
		return value{}, false
	}
}
