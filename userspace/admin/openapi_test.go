package admin_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/test/golden"
	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/event"
)

type object = map[string]any

// description is the description as its readers have it.
type description struct {
	Paths      map[string]map[string]described
	Components struct{ Schemas object }
}

type described struct {
	OperationID string
	Parameters  []struct{ Name, In string }
	RequestBody struct {
		Content map[string]struct{ Schema object }
	}
	Responses map[string]struct {
		Content map[string]struct{ Schema object }
	}
}

func readDescription(t *testing.T) (d description) {
	t.Helper()
	if err := json.Unmarshal(admin.OpenAPI(), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestOpenAPI(t *testing.T) { golden.Check(t, "openapi", admin.OpenAPI()) }

// operation finds what is described for a request.
func (d *description) operation(r request) (o described, path string) {
	target, _, _ := strings.Cut(r.target, "?")
	for path, methods := range d.Paths {
		if samePath(path, target) {
			return methods[strings.ToLower(r.method)], path
		}
	}
	return described{}, ""
}

func samePath(template, path string) bool {
	a, b := strings.Split(template, "/"), strings.Split(path, "/")
	return slices.EqualFunc(a, b, func(a, b string) bool { return a == b || strings.HasPrefix(a, "{") })
}

// Each operation that is described is served, and answers as it is described; and each request of
// the tests is described.
func TestAnswersAreAsDescribed(t *testing.T) {
	d := readDescription(t)
	asked := map[string]bool{"events": true} // it has no end; see below
	for _, r := range good() {
		o, path := d.operation(r)
		if o.OperationID == "" {
			t.Errorf("%s %s is not described", r.method, r.target)
			continue
		}
		asked[o.OperationID] = true
		if r.body != "" {
			d.checkText(t, path+" body", []byte(r.body), o.RequestBody.Content["application/json"].Schema)
		}
		h, _ := newHandler()
		w := asks(h, r.method, r.target, r.body)
		d.checkText(t, path, w.Body.Bytes(), o.Responses["200"].Content["application/json"].Schema)
	}
	for path, methods := range d.Paths {
		for method, o := range methods {
			if !asked[o.OperationID] {
				t.Errorf("%s %s: no test asks for it", method, path)
			}
		}
	}
}

// An event has the fields that are described.
func TestEventsAreAsDescribed(t *testing.T) {
	d := readDescription(t)
	schema := d.Paths["/v1/events"]["get"].Responses["200"].Content["application/x-ndjson"].Schema
	for _, e := range []event.Event{
		{Time: noon(), Kind: admin.Heartbeat},
		{
			Time: noon(), Kind: event.Dropped, Source: netip.MustParsePrefix("203.0.113.7/32"), Origin: "kernel", Rule: "block",
			Zone: "z", Reason: "blocked", For: 1, Count: 1, Factor: 1, Name: "eth0", Lost: 1,
			Packet: &event.Packet{Source: netip.MustParseAddr("203.0.113.7"), Policy: "default"},
		},
	} {
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		d.checkText(t, string(e.Kind), text, schema)
	}
}

// What the tests refuse is described too: its status, its parameters, and that the body is wrong.
func TestProblemsAreDescribed(t *testing.T) {
	d := readDescription(t)
	for _, r := range good() {
		o, path := d.operation(r)
		for status, response := range o.Responses {
			if _, problem := response.Content["application/problem+json"]; status != "200" && !problem {
				t.Errorf("%s: %s is no problem", path, status)
			}
		}
		parameters := 0
		for _, p := range o.Parameters {
			if p.In == "path" && !strings.Contains(path, "{"+p.Name+"}") {
				t.Errorf("%s has no %s", path, p.Name)
			}
			if p.In == "path" {
				parameters++
			}
		}
		if parameters != strings.Count(path, "{") {
			t.Errorf("%s: %d parameters", path, parameters)
		}
		h, _ := newHandler()
		separator := "?"
		if strings.Contains(r.target, "?") {
			separator = "&"
		}
		for _, wrong := range []*http.Response{
			asks(h, r.method, r.target+separator+"nothing=1", r.body).Result(), asks(h, r.method, r.target, `{"nothing":1}`).Result(),
		} {
			if _, is := o.Responses[fmt.Sprint(wrong.StatusCode)]; !is {
				t.Errorf("%s %s: %d is not described", r.method, path, wrong.StatusCode)
			}
		}
	}
}

func noon() time.Time { return time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC) }

func (d *description) checkText(t *testing.T, what string, text []byte, schema object) {
	t.Helper()
	if schema == nil {
		t.Errorf("%s: no schema", what)
		return
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if err := d.check(value, schema); err != nil {
		t.Errorf("%s: %v in %s", what, err, text)
	}
}

// check returns an error unless a value is valid by a schema, in what of JSON Schema the description uses.
// Beyond that a value may have no fields that are not described.
func (d *description) check(value any, schema object) error {
	if ref, is := schema["$ref"].(string); is {
		name := strings.TrimPrefix(ref, "#/components/schemas/")
		named, has := d.Components.Schemas[name].(object)
		if !has {
			return fmt.Errorf("no schema %s", name)
		}
		return d.check(value, named)
	}
	if any, is := schema["oneOf"].([]any); is {
		return d.checkAny(value, any)
	}
	if err := checkType(value, schema["type"]); err != nil {
		return err
	}
	if enum, is := schema["enum"].([]any); is && !slices.Contains(enum, value) {
		return fmt.Errorf("%v is none of %v", value, enum)
	}
	if least, is := schema["minimum"].(float64); is && value.(float64) < least {
		return fmt.Errorf("%v is below %v", value, least)
	}
	switch value := value.(type) {
	case []any:
		for i, e := range value {
			if err := d.check(e, schema["items"].(object)); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
	case object:
		return d.checkObject(value, schema)
	case string:
		if schema["format"] == "date-time" {
			_, err := time.Parse(time.RFC3339Nano, value)
			return err
		}
	}
	return nil
}

func (d *description) checkAny(value any, schemas []any) (err error) {
	for _, s := range schemas {
		if err = d.check(value, s.(object)); err == nil {
			return nil
		}
	}
	return err
}

func (d *description) checkObject(value, schema object) error {
	properties, _ := schema["properties"].(object)
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, has := value[name.(string)]; !has {
			return fmt.Errorf("no field %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		property, known := properties[name].(object)
		if !known && properties != nil {
			return fmt.Errorf("the field %s is not described", name)
		}
		if err := d.check(value[name], property); known && err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func checkType(value, want any) error {
	var is string
	switch v := value.(type) {
	case nil:
		is = "null"
	case bool:
		is = "boolean"
	case string:
		is = "string"
	case []any:
		is = "array"
	case object:
		is = "object"
	case float64:
		if is = "number"; v == float64(int64(v)) && want != "number" {
			is = "integer"
		}
	}
	if several, more := want.([]any); more && slices.Contains(several, any(is)) || want == is {
		return nil
	}
	return fmt.Errorf("%v is a %s, not %v", value, is, want)
}
