package envoy

import (
	"net/http"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/encoding/protowire"
)

// headerField is a field with its values.
type headerField struct {
	name   string
	values []string
}

// inOrder returns h's fields by name, in room if that is large enough.
func inOrder(h http.Header, room []headerField) []headerField {
	for name, values := range h {
		room = append(room, headerField{name, values})
	}
	slices.SortFunc(room, func(a, b headerField) int { return strings.Compare(a.name, b.name) })
	return room
}

// appendOptions appends the fields of h as HeaderValueOptions of a response. If somebody else makes that, the lists of draft10 go
// beside its own, as from the proxy; of others there can be one only: Envoy gives a body a Content-Type of its own.
func appendOptions(b []byte, number protowire.Number, h http.Header, beside bool) []byte {
	var room [8]headerField
	for _, f := range inOrder(h, room[:0]) {
		action := corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD
		if beside && isList(f.name) {
			action = corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD
		}
		var at int
		b, at = begin(b, number)
		b = appendValue(b, 1, f)
		b = appendVarint(b, 3, uint64(action))
		b = end(b, at)
	}
	return b
}

func isList(name string) bool { return name == "Ratelimit" || name == "Ratelimit-Policy" }

// appendValues appends the fields of h as HeaderValues, where a service cannot say what they do to others. Envoy adds
// them, but for a Content-Type, which it replaces.
func appendValues(b []byte, number protowire.Number, h http.Header) []byte {
	var room [8]headerField
	for _, f := range inOrder(h, room[:0]) {
		b = appendValue(b, number, f)
	}
	return b
}

// appendValue appends a HeaderValue, in which several values are one.
func appendValue(b []byte, number protowire.Number, f headerField) []byte {
	b, at := begin(b, number)
	b = appendString(b, 1, f.name)
	b = appendString(b, 2, strings.Join(f.values, ", "))
	return end(b, at)
}
