package envoy

import (
	"errors"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is a message of protocol buffers, or what is left of it: its bytes, and the same as a text, so that what is kept
// of it takes no memory of its own.
type message struct {
	wire []byte
	text string
}

// field is a field of a message. One with a length is a message, or a text, as whoever reads it likes.
type field struct {
	tag    uint64 // number and type, as on the wire
	varint uint64 // if it is one
	message
}

// Types of fields in tags. Those of other types are only skipped.
const (
	asVarint = uint64(protowire.VarintType)
	asBytes  = uint64(protowire.BytesType)
)

var (
	errField = errors.New("a field has no valid number")
	errUTF8  = errors.New("a string is no valid UTF-8")
)

// each calls read for each field, until there is an error. Fields that are not known are for read to pass over: also those
// that have another type than they should, as in generated code.
func (m message) each(read func(field) error) error {
	for len(m.wire) > 0 {
		f, err := m.next()
		if err != nil {
			return err
		}
		if err := read(f); err != nil {
			return err
		}
	}
	return nil
}

// within calls read for each field of the messages that the fields of a number are. If there are several, the message
// that they stand for has the fields of all.
func (m message) within(number uint64, read func(field) error) error {
	return m.each(func(f field) error {
		if f.tag != number<<3|asBytes {
			return nil
		}
		return f.each(read)
	})
}

// next takes the first field off m.
func (m *message) next() (f field, err error) {
	number, kind, n := protowire.ConsumeTag(m.wire)
	if n >= 0 && number > protowire.MaxValidNumber {
		return f, errField
	}
	if err := m.skip(n); err != nil {
		return f, err
	}
	f.tag = protowire.EncodeTag(number, kind)
	switch kind {
	case protowire.VarintType:
		f.varint, n = protowire.ConsumeVarint(m.wire)
	case protowire.BytesType:
		if f.wire, n = protowire.ConsumeBytes(m.wire); n >= 0 {
			f.text = m.text[n-len(f.wire) : n]
		}
	default:
		n = protowire.ConsumeFieldValue(number, kind, m.wire)
	}
	return f, m.skip(n)
}

// skip takes n bytes off m; if n is negative it is an error of protowire.
func (m *message) skip(n int) error {
	if n < 0 {
		return protowire.ParseError(n)
	}
	m.wire, m.text = m.wire[n:], m.text[n:]
	return nil
}

// into makes s a field that is a string.
func (f field) into(s *string) error {
	if !utf8.Valid(f.wire) {
		return errUTF8
	}
	*s = f.text
	return nil
}

// pair is a key and its value: an entry of a map or of a descriptor, or a header field.
type pair struct{ key, value string }

// appendPair appends a field that is one.
func appendPair(pairs *[]pair, f field) error {
	var p pair
	err := f.each(p.read)
	*pairs = append(*pairs, p)
	return err
}

func (p *pair) read(f field) error {
	switch f.tag {
	case 1<<3 | asBytes:
		return f.into(&p.key)
	case 2<<3 | asBytes:
		return f.into(&p.value)
	}
	return nil
}
