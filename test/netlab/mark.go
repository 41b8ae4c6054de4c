//go:build linux

package netlab

import (
	"bytes"
	"crypto/rand"
	"slices"
)

// Mark names a frame that a Sender sends behind others and that a Counter waits
// for: as frames do not overtake each other, what was sent before the mark has
// arrived, or never will, when the mark arrives.
type Mark [16]byte

// markHeader starts a mark frame. Its EtherType, 0x88b5, is the first of those
// that IEEE 802 sets aside for local experiments; as it is not IP, a filter
// that looks at IP only lets it pass.
var markHeader = slices.Concat(
	[]byte{0x02, 0, 0, 0, 0, 0x02, 0x02, 0, 0, 0, 0, 0x01, 0x88, 0xb5},
	[]byte("headgate netlab mark: "),
)

const markFrameLen = 60

func newMark() Mark {
	var m Mark
	rand.Read(m[:])
	return m
}

func (m Mark) frame() []byte {
	frame := make([]byte, markFrameLen)
	copy(frame, markHeader)
	copy(frame[len(markHeader):], m[:])
	return frame
}

// markIn returns the mark that a frame carries, and false for other frames.
func markIn(frame []byte) (Mark, bool) {
	rest, ok := bytes.CutPrefix(frame, markHeader)
	if !ok || len(rest) < len(Mark{}) {
		return Mark{}, false
	}
	return Mark(rest[:len(Mark{})]), true
}
