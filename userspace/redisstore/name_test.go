package redisstore

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestName(t *testing.T) {
	for _, test := range []struct{ tag, zone, key, want string }{
		{"http", "per-ip", "192.0.2.1", "hg:{http}:leaky:per-ip:192.0.2.1"},
		{"", "z", "", "hg:{%}:leaky:z:"},
		{"a}b", "{z}", "k\n k", "hg:{a%7Db}:leaky:%7Bz%7D:k%0A%20k"},
		{"t", "a:b", "c", "hg:{t}:leaky:a%3Ab:c"},
		{"t", "a", "b:c", "hg:{t}:leaky:a:b%3Ac"},
		{"t", "z", "%3A#\x00\xff", "hg:{t}:leaky:z:%253A%23%00%FF"},
		{"t", "z", strings.Repeat("x", 64), "hg:{t}:leaky:z:" + strings.Repeat("x", 64)},
		{"t", "z", strings.Repeat("x", 65), "hg:{t}:leaky:z:#lTfF_fEgSC99WNJentWD9SwCtOME6oFN"},
	} {
		if got := string(appendName(nil, "hg", test.tag, terms{kind: leaky, q: 7}, test.zone, test.key)); got != test.want {
			t.Errorf("%q %q %q: %q, want %q", test.tag, test.zone, test.key, got, test.want)
		}
	}
}

// hashTag returns what Redis computes the slot of a name by.
func hashTag(name string) string {
	if _, rest, found := strings.Cut(name, "{"); found {
		if tag, _, found := strings.Cut(rest, "}"); found && tag != "" {
			return tag
		}
	}
	return name
}

// TestNames: different keys have different names, and those with the same tag are in the same slot.
func TestNames(t *testing.T) {
	part := rapid.OneOf(rapid.StringOfN(rapid.SampledFrom([]rune("a{}:%# \n")), 0, 4, -1), rapid.StringN(60, 70, -1))
	rapid.Check(t, func(t *rapid.T) {
		type key struct {
			terms          terms
			tag, zone, key string
		}
		draw := func(tag string) key {
			return key{rapid.SampledFrom([]terms{{kind: leaky}, {kind: window, q: 1}, {kind: window, q: 11}, {kind: sliding, q: 1}, {kind: concurrent}}).Draw(t, "terms"), tag, part.Draw(t, "zone"), part.Draw(t, "key")}
		}
		name := func(k key) string { return string(appendName(nil, "a{b}", k.tag, k.terms, k.zone, k.key)) }
		a := draw(part.Draw(t, "tag"))
		b, c := draw(a.tag), draw(part.Draw(t, "other tag"))
		for _, other := range []key{b, c} {
			if (a == other) != (name(a) == name(other)) {
				t.Fatalf("%+v and %+v: %q and %q", a, other, name(a), name(other))
			}
		}
		if hashTag(name(a)) != hashTag(name(b)) || hashTag(name(a)) == name(a) || a.tag != c.tag && hashTag(name(a)) == hashTag(name(c)) {
			t.Fatalf("tags of %q, %q, %q", name(a), name(b), name(c))
		}
	})
}
