package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxBody bounds the body of most requests, in bytes.
const maxBody = 64 << 10

// decode returns the body of a request: one JSON object that has every field which In needs, and none that it has
// not. encoding/json would take fields of other spelling, the last of several, and null for any.
func decode[In any](r *http.Request) (in In, err error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return in, problem(http.StatusUnsupportedMediaType, "send the header field Content-Type: application/json")
	}
	body, err := io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return in, problem(http.StatusRequestEntityTooLarge, "the body is longer than %d bytes", tooLarge.Limit)
	}
	if err != nil {
		return in, problem(http.StatusBadRequest, "read the body: %v", err)
	}
	if len(body) == 0 {
		body = []byte("{}")
	}
	if err := checkObject(body, reflect.TypeFor[In]()); err != nil {
		return in, problem(http.StatusBadRequest, "body: %v", err)
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return in, problem(http.StatusBadRequest, "body: %s", inWords(err))
	}
	return in, nil
}

// inWords words an error of encoding/json without the names of Go's types.
func inWords(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	kind := schemaOf(wrong.Type, nil)["type"]
	return fmt.Sprintf("%q is a %s; use a value of type %v", wrong.Field, wrong.Value, kind)
}

// checkObject returns an error unless body is one object with the fields of a struct, each at most once.
func checkObject(body []byte, of reflect.Type) error {
	if !utf8.Valid(body) {
		return errors.New("not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return errors.New("not a JSON object")
	}
	known, required := fieldNames(of)
	var seen []string
	for dec.More() {
		name, err := field(dec)
		if err != nil {
			return err
		}
		switch {
		case !slices.Contains(known, name):
			return fmt.Errorf("unknown field %.40q; there is %s", name, orNone(known))
		case slices.Contains(seen, name):
			return fmt.Errorf("the field %q is there twice", name)
		}
		seen = append(seen, name)
	}
	if _, err := dec.Token(); err != nil {
		return notJSON(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("there is more behind the object; send one")
	}
	for _, name := range required {
		if !slices.Contains(seen, name) {
			return fmt.Errorf("the field %q is missing", name)
		}
	}
	return nil
}

// field reads a field of an object, and returns its name.
func field(dec *json.Decoder) (name string, err error) {
	token, err := dec.Token()
	if err != nil {
		return "", notJSON(err)
	}
	name, _ = token.(string) // the decoder takes nothing else there
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil {
		return "", notJSON(err)
	}
	if string(value) == "null" {
		return "", fmt.Errorf("the field %.40q is null; leave it out", name)
	}
	return name, nil
}

func notJSON(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("not JSON: %w", err)
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// fieldNames returns the names of a struct's fields in JSON, and those that must be there.
func fieldNames(of reflect.Type) (known, required []string) {
	for f := range structFields(of) {
		known = append(known, f.name)
		if !f.optional {
			required = append(required, f.name)
		}
	}
	return known, required
}
