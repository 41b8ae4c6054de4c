package admin

import (
	"iter"
	"net/netip"
	"reflect"
	"strings"
	"time"
)

// object is a JSON object of the description.
type object = map[string]any

// structField is a field of a struct as JSON has it.
type structField struct {
	reflect.StructField
	name     string
	optional bool
}

// structFields returns the fields of a struct that are in its JSON. No struct of the API has one embedded.
func structFields(t reflect.Type) iter.Seq[structField] {
	return func(yield func(structField) bool) {
		for i := range t.NumField() {
			f := t.Field(i)
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" || !f.IsExported() {
				continue
			}
			if !yield(structField{f, name, strings.HasPrefix(options, "omit")}) {
				return
			}
		}
	}
}

// schemas collects those of structs, by name.
type schemas map[string]object

// schemaOf returns the JSON schema of what encoding/json makes of a type. That of a struct is put into named, if
// that is not nil, and referred to.
func schemaOf(t reflect.Type, named schemas) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[netip.Prefix]():
		return object{"type": "string", "description": "a prefix of addresses, as 203.0.113.0/24 or 2001:db8::/32"}
	case reflect.TypeFor[netip.Addr]():
		return object{"type": "string", "description": "an address"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return orNull(schemaOf(t.Elem(), named))
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer", "minimum": 0}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Slice:
		return object{"type": "array", "items": schemaOf(t.Elem(), named)}
	case reflect.Struct:
		return named.ref(t)
	default:
		panic("admin: no schema for " + t.String()) // a mistake in the table of operations
	}
}

// orNull returns a schema that null is valid by too.
func orNull(s object) object {
	if _, isRef := s["$ref"]; isRef {
		return object{"oneOf": []object{s, {"type": "null"}}}
	}
	s["type"] = []any{s["type"], "null"}
	return s
}

// ref returns a reference to the schema of a struct.
func (s schemas) ref(t reflect.Type) object {
	if s == nil {
		return object{"type": "object"}
	}
	if _, has := s[t.Name()]; !has {
		s[t.Name()] = object{} // so that a struct may have itself as a field
		s[t.Name()] = structSchema(t, s)
	}
	return object{"$ref": "#/components/schemas/" + t.Name()}
}

func structSchema(t reflect.Type, named schemas) object {
	properties, required := object{}, []string{}
	for f := range structFields(t) {
		of := schemaOf(f.Type, named)
		if f.optional && f.Type.Kind() == reflect.Pointer {
			of = schemaOf(f.Type.Elem(), named) // it is left out, and never null
		}
		if doc := f.Tag.Get("doc"); doc != "" {
			of["description"] = doc
		}
		if enum := f.Tag.Get("enum"); enum != "" {
			of["enum"] = strings.Split(enum, ",")
		}
		properties[f.name] = of
		if !f.optional {
			required = append(required, f.name)
		}
	}
	return object{"type": "object", "properties": properties, "required": required}
}

// closed returns the schema of a request's body, which has no other fields.
func closed(s object) object {
	s["additionalProperties"] = false
	return s
}
