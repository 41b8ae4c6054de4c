package envoy

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// begin begins a field that is a message. What is appended until end is called with the same at is in it.
func begin(b []byte, number protowire.Number) (message []byte, at int) {
	b = append(protowire.AppendTag(b, number, protowire.BytesType), 0)
	return b, len(b)
}

// end ends the message that begin began. Most are short enough for the byte that was left for their length.
func end(b []byte, at int) []byte {
	n := len(b) - at
	if n < 0x80 {
		b[at-1] = byte(n)
		return b
	}
	var length [binary.MaxVarintLen64]byte
	more := binary.PutUvarint(length[:], uint64(n)) - 1
	b = append(b, length[:more]...)
	copy(b[at+more:], b[at:])
	copy(b[at-1:], length[:more+1])
	return b
}

// appendString appends a string or bytes; nothing if there are none, as for all zero values.
func appendString[T string | []byte](b []byte, number protowire.Number, s T) []byte {
	if len(s) == 0 {
		return b
	}
	b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.BytesType), uint64(len(s)))
	return append(b, s...)
}

func appendVarint(b []byte, number protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), v)
}

// appendCode appends a message that has no more than a number, which is its first field.
func appendCode[T ~int | ~uint32](b []byte, number protowire.Number, code T) []byte {
	b, at := begin(b, number)
	b = appendVarint(b, 1, uint64(code))
	return end(b, at)
}
