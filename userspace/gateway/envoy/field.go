package envoy

import (
	"net/http"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
)

// namesOf returns the names of h's fields in order, in room if that is large enough.
func namesOf(h http.Header, room []string) []string {
	for name := range h {
		room = append(room, name)
	}
	slices.Sort(room)
	return room
}

// besides returns the fields of h for a response that somebody else makes: the lists of draft10 go beside its
// own, as from the proxy. Of the other fields there can be one only.
func besides(h http.Header) []*corev3.HeaderValueOption {
	options := instead(h)
	for _, o := range options {
		if isList(o.Header.Key) {
			o.AppendAction = corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD
		}
	}
	return options
}

func isList(name string) bool { return name == "Ratelimit" || name == "Ratelimit-Policy" }

// instead returns the fields of h, which have a value each, for a response that has others of these names: Envoy gives a
// body a Content-Type of its own.
func instead(h http.Header) []*corev3.HeaderValueOption {
	var room [8]string
	names := namesOf(h, room[:0])
	all := make([]struct {
		option corev3.HeaderValueOption
		value  corev3.HeaderValue
	}, len(names))
	options := make([]*corev3.HeaderValueOption, len(names))
	for i, name := range names {
		m := &all[i]
		m.value.Key, m.value.Value = name, strings.Join(h[name], ", ")
		m.option.Header, m.option.AppendAction = &m.value, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD
		options[i] = &m.option
	}
	return options
}

// plain returns the fields of h, which have a value each, where a service cannot say what they do to others. Envoy adds
// them, but for a Content-Type, which it replaces.
func plain(h http.Header) []*corev3.HeaderValue {
	var room [8]string
	names := namesOf(h, room[:0])
	all := make([]corev3.HeaderValue, len(names))
	values := make([]*corev3.HeaderValue, len(names))
	for i, name := range names {
		all[i].Key, all[i].Value = name, strings.Join(h[name], ", ")
		values[i] = &all[i]
	}
	return values
}
