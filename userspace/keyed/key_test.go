package keyed_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/headgate/headgate/userspace/keyed"
)

// Texts with different bytes, or with more of the same, are different keys.
func TestKeysAreTheirTexts(t *testing.T) {
	texts := map[keyed.Key]string{}
	add := func(text string) {
		key := keyed.KeyOf(text)
		if was, ok := texts[key]; ok && was != text {
			t.Errorf("%q and %q have the same key", was, text)
		}
		texts[key] = text
		if keyed.KeyOf(strings.Clone(text)) != key {
			t.Errorf("%q has two keys", text)
		}
	}
	for n := range 70 {
		zeros := strings.Repeat("\x00", n)
		add(zeros)
		for i := range n {
			for _, b := range []string{"\x01", "\x80", "\xff", "a"} {
				add(zeros[:i] + b + zeros[i+1:])
			}
		}
	}
	if keyed.KeyOf("") != (keyed.Key{}) {
		t.Error("the empty text is not the zero value")
	}
}

// A text can be read back from the key of a short one: nothing of it is lost.
func FuzzKeyOf(f *testing.F) {
	for _, text := range []string{"", "a", "ab", "abcd", "203.0.113.7", "sixteen bytes...", "twenty-three bytes long", "twenty-four bytes, long."} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words := keyed.Words(keyed.KeyOf(text))
		var b [24]byte
		for i, word := range words {
			binary.LittleEndian.PutUint64(b[8*i:], word)
		}
		if len(text) > 23 {
			if b[23] != 0xff {
				t.Errorf("%q: %x is not marked as a hash", text, b)
			}
			return
		}
		if int(b[23]) != len(text) || string(b[:len(text)]) != text || strings.Trim(string(b[len(text):23]), "\x00") != "" {
			t.Errorf("%q becomes %x", text, b)
		}
	})
}

func TestKeyIsNotAllocated(t *testing.T) {
	long := strings.Repeat("x", 100)
	s := keyed.New[keyed.Key](leaky(t, "1r/s", 1<<30), keyed.Options[keyed.Key]{})
	if n := testing.AllocsPerRun(100, func() {
		s.Take(keyed.KeyOf("203.0.113.7"), 1, start)
		s.Take(keyed.KeyOf(long), 1, start)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
