package clientip_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/headgate/headgate/userspace/clientip"
)

// appendTo appends a part to a key.
func appendTo(key []byte, part clientip.Part) []byte {
	if part.IsPrefix {
		return clientip.AppendPrefix(key, part.Prefix)
	}
	return clientip.AppendPart(key, part.Text)
}

// keyOf returns the key of parts.
func keyOf(parts []clientip.Part) string {
	var key []byte
	for _, part := range parts {
		key = appendTo(key, part)
	}
	return string(key)
}

// drawParts draws a sequence of parts, many of which are alike.
func drawParts(t *rapid.T, label string) []clientip.Part {
	text := rapid.Custom(func(t *rapid.T) clientip.Part {
		return clientip.Part{Text: rapid.OneOf(rapid.StringOfN(rapid.SampledFrom([]rune("a\x00\x01\x02")), 0, 3, -1), rapid.String()).Draw(t, "text")}
	})
	prefix := rapid.Custom(func(t *rapid.T) clientip.Part {
		size := rapid.SampledFrom([]int{0, 4, 16}).Draw(t, "size")
		b := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 2, 0xff}), size, size).Draw(t, "addr")
		addr, _ := netip.AddrFromSlice(b)
		return clientip.Part{IsPrefix: true, Prefix: clientip.Masked(addr, rapid.IntRange(1, 32).Draw(t, "ipv4"), rapid.IntRange(1, 128).Draw(t, "ipv6"))}
	})
	return rapid.SliceOfN(rapid.OneOf(text, prefix), 0, 4).Draw(t, label)
}

// TestKeysAreInjective shows that two sequences of parts have one key only if
// they are one, and that the key tells which.
func TestKeysAreInjective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawParts(t, "a"), drawParts(t, "b")
		if (keyOf(a) == keyOf(b)) != slices.Equal(a, b) {
			t.Fatalf("%q has the key %q, and %q %q", a, keyOf(a), b, keyOf(b))
		}
		if got, ok := clientip.Parts(keyOf(a)); !ok || !slices.Equal(got, a) {
			t.Fatalf("%q came back as %q, %v", a, got, ok)
		}
	})
}

// TestKeys has the bytes of keys, so that a change of their form is noticed, and
// what people see of them.
func TestKeys(t *testing.T) {
	long := strings.Repeat("x", 64)
	prefix := func(text string) clientip.Part {
		return clientip.Part{IsPrefix: true, Prefix: netip.MustParsePrefix(text)}
	}
	for _, test := range []struct {
		parts []clientip.Part
		key   string
		text  string
	}{
		{nil, "", ""},
		{[]clientip.Part{{Text: "a"}, {Text: "bc"}}, "\x02a\x04bc", "a, bc"},
		{[]clientip.Part{{Text: "ab"}, {Text: "c"}}, "\x04ab\x02c", "ab, c"},
		{[]clientip.Part{{Text: ""}, {Text: "a, b"}, {Text: "\x1b[2J\xff"}}, "\x00\x08a, b\x0a\x1b[2J\xff", `"", "a, b", "\x1b[2J\xff"`},
		{[]clientip.Part{{Text: long}}, "\x80\x01" + long, long},
		{[]clientip.Part{prefix("192.0.2.1/32"), {Text: "/x"}}, "\x43\xc0\x00\x02\x01\x04/x", "192.0.2.1, /x"},
		{[]clientip.Part{prefix("192.0.2.0/23")}, "\x31\xc0\x00\x02", "192.0.2.0/23"},
		{[]clientip.Part{prefix("2001:db8::/64")}, "\xc5\x01\x20\x01\x0d\xb8\x00\x00\x00\x00", "2001:db8::/64"},
		{[]clientip.Part{prefix("2001:db8::/29")}, "\x7f\x20\x01\x0d\xb8", "2001:db8::/29"},
		{[]clientip.Part{prefix("::1/128")}, "\xc5\x02" + strings.Repeat("\x00", 15) + "\x01", "::1"},
		{[]clientip.Part{prefix("0.0.0.0/0"), prefix("::/0")}, "\x03\x45", "0.0.0.0/0, ::/0"},
		{[]clientip.Part{{IsPrefix: true}}, "\x01", "unknown"},
	} {
		if key := keyOf(test.parts); key != test.key {
			t.Errorf("%q: key %q, want %q", test.parts, key, test.key)
		}
		if text := clientip.Describe(test.key); text != test.text {
			t.Errorf("key %q: %s, want %s", test.key, text, test.text)
		}
	}
	if from := clientip.AppendPart(nil, []byte("bc")); string(from) != "\x04bc" {
		t.Errorf("of bytes: %q", from)
	}
}

// TestAppendPrefixIsCanonical has one key for a prefix, however it is written.
func TestAppendPrefixIsCanonical(t *testing.T) {
	for _, same := range [][]netip.Prefix{
		prefixes("192.0.2.0/24", "192.0.2.9/24", "::ffff:192.0.2.0/120", "::ffff:192.0.2.7/120"),
		prefixes("2001:db8::/63", "2001:db8:0:1::5/63"),
	} {
		for _, p := range same {
			if got, want := clientip.AppendPrefix(nil, p), clientip.AppendPrefix(nil, same[0]); string(got) != string(want) {
				t.Errorf("%s: %q, want %q as %s", p, got, want, same[0])
			}
		}
	}
}

// TestParts has what no key is.
func TestParts(t *testing.T) {
	for _, key := range []string{
		"\x02", "\x04a", "\x80", "\x80\x00", "\x82\x00a", // cut off, or longer than needed
		"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", strings.Repeat("\xff", 20),
		"\x43\xc0\x00\x02", "\x31\xc0\x00\x03", "\xc5\x01\x20\x01", "\xc7\x02" + strings.Repeat("\x00", 17), // no prefix
		"\xc5\x02" + strings.Repeat("\x00", 10) + "\xff\xff\x01\x02\x03\x04", // an IPv4-mapped address
	} {
		if parts, ok := clientip.Parts(key); ok {
			t.Errorf("%q: %q", key, parts)
		}
	}
	if text := clientip.Describe("\x04a"); text != `"\x04a"` {
		t.Errorf("described as %s", text)
	}
}

// FuzzParts checks that no key makes Parts panic, and that it accepts only what
// AppendPart and AppendPrefix make.
func FuzzParts(f *testing.F) {
	f.Fuzz(func(t *testing.T, key string) {
		parts, ok := clientip.Parts(key)
		if ok && keyOf(parts) != key {
			t.Errorf("key %q has the parts %q, whose key is %q", key, parts, keyOf(parts))
		}
		if text := clientip.Describe(key); (text == "") != (key == "") {
			t.Errorf("key %q is described as %q", key, text)
		}
	})
}
