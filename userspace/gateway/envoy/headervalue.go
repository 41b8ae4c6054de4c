package envoy

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/headgate/headgate/userspace/httplimit"
)

// appendOptions appends the fields of r as HeaderValueOptions of a response. If somebody else makes that, the lists of draft10 go
// beside its own, as from the proxy; of others there can be one only: Envoy gives a body a Content-Type of its own.
func appendOptions(b []byte, number protowire.Number, r *httplimit.Response, beside bool) []byte {
	for name, value := range r.Fields() {
		action := corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD
		if beside && httplimit.IsList(name) {
			action = corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD
		}
		b = appendOption(b, number, name, value, action)
	}
	return b
}

// appendOption appends a HeaderValueOption.
func appendOption(b []byte, number protowire.Number, name string, value []byte, action corev3.HeaderValueOption_HeaderAppendAction) []byte {
	b, at := begin(b, number)
	b = appendValue(b, 1, name, value)
	b = appendVarint(b, 3, uint64(action))
	return end(b, at)
}

// appendValues appends the fields of r, or only those that are lists, as HeaderValues, where a service cannot say what they
// do to others. Envoy adds them, but for a Content-Type, which it replaces.
func appendValues(b []byte, number protowire.Number, r *httplimit.Response, onlyLists bool) []byte {
	for name, value := range r.Fields() {
		if !onlyLists || httplimit.IsList(name) {
			b = appendValue(b, number, name, value)
		}
	}
	return b
}

// appendValue appends a HeaderValue.
func appendValue(b []byte, number protowire.Number, name string, value []byte) []byte {
	b, at := begin(b, number)
	b = appendString(b, 1, name)
	b = appendString(b, 2, value)
	return end(b, at)
}
