package config

import (
	"bytes"
	"errors"
	"io"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parseYAML returns the first two documents in data, as more than one are too many.
func parseYAML(data []byte) ([]*yaml.Node, error) {
	var documents []*yaml.Node
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); len(documents) < 2; {
		node := new(yaml.Node)
		err := decoder.Decode(node)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		documents = append(documents, node)
	}
	return documents, nil
}

// syntaxProblem words what the YAML parser says of data.
func syntaxProblem(data []byte, err error) Problem {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line, found := brokenLine(data, err)
	if rest, ok := strings.CutPrefix(text, "line "); ok && found {
		_, text, _ = strings.Cut(rest, ": ")
	}
	return Problem{Line: line, Text: "not YAML: " + text + advice(text)}
}

// brokenLine returns the line at which parsing fails. The parser tells only where the mapping
// or list begins that it could not go on with, so look for the shortest text that fails in the
// same way. It does not where that would take too long.
func brokenLine(data []byte, err error) (line int, found bool) {
	const tooLarge = 256 << 10
	if len(data) > tooLarge {
		return 0, false
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	i := sort.Search(len(lines)-1, func(i int) bool {
		_, got := parseYAML(bytes.Join(lines[:i+1], nil))
		return got != nil && got.Error() == err.Error()
	})
	return i + 1, true
}

// advice says what mostly is the cause of what the parser says.
func advice(text string) string {
	for _, a := range []struct{ of, text string }{
		{"did not find expected key", "indent the fields of one section alike, and quote texts with special characters"},
		{"did not find expected '-'", "indent the elements of one list alike"},
		{"did not find expected ','", "quote texts that contain , [ ] { } or #"},
		{"cannot start any token", "indent by spaces, not by tabs, and quote texts that begin with a special character"},
		{"mapping values are not allowed", "quote texts that contain a colon and a space, and indent the fields of one section alike"},
		{"unknown anchor", "write &NAME before the value that *NAME repeats, and quote texts that begin with *"},
		{"unexpected end of stream", "end texts that begin with a quote with one"},
		{"alphabetic or numeric character", "quote texts that begin with * or &"},
	} {
		if strings.Contains(text, a.of) {
			return "; " + a.text
		}
	}
	return ""
}
