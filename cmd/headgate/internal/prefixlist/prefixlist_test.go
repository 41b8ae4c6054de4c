package prefixlist

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/maps/wire"
)

func TestParse(t *testing.T) {
	tests := []struct {
		text, want string
		masked     bool
	}{
		{"203.0.113.7", "203.0.113.7/32", false},
		{"203.0.113.0/24", "203.0.113.0/24", false},
		{"203.0.113.7/24", "203.0.113.0/24", true},
		{"0.0.0.0/0", "0.0.0.0/0", false},
		{"10.0.0.1/0", "0.0.0.0/0", true},
		{"2001:db8::1", "2001:db8::1/128", false},
		{"2001:DB8:0::/32", "2001:db8::/32", false},
		{"2001:db8::1/64", "2001:db8::/64", true},
		{"::/0", "::/0", false},
		{"::ffff:192.0.2.9", "192.0.2.9/32", false},
		{"::ffff:192.0.2.0/120", "192.0.2.0/24", false},
		{"::ffff:192.0.2.9/120", "192.0.2.0/24", true},
	}
	for _, tt := range tests {
		got, masked, err := Parse(tt.text)
		if err != nil || got.String() != tt.want || masked != tt.masked {
			t.Errorf("%q: %s, masked %t, %v; want %s, masked %t", tt.text, got, masked, err, tt.want, tt.masked)
		}
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", `prefix "": use an address`},
		{"10.0.0", `prefix "10.0.0": use an address`},
		{"10.0.0.0/33", "/33 is not 0 to 32"},
		{"10.0.0.0/-1", "/-1 is not 0 to 32"},
		{"10.0.0.0/255.0.0.0", "/255.0.0.0 is not 0 to 32"},
		{"2001:db8::/129", "/129 is not 0 to 128"},
		{"fe80::1%eth0", `leave out the zone "eth0"`},
		{"fe80::1%eth0/64", "leave out the zone"},
		{"example.org", "use an address"},
		{" 10.0.0.1", "use an address"},
	}
	for _, tt := range tests {
		got, _, err := Parse(tt.text)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %s, error %v; want one with %q", tt.text, got, err, tt.want)
		}
	}
}

func TestRead(t *testing.T) {
	const list = "\ufeff# a list\r\n\n10.0.0.1\n  10.0.0.7/8 # masked\r\n#2001:db8::/32\n2001:db8::/32"
	prefixes, masked, err := Read(strings.NewReader(list), "list")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range prefixes {
		got = append(got, p.String())
	}
	if diff := cmp.Diff([]string{"10.0.0.1/32", "10.0.0.0/8", "2001:db8::/32"}, got); diff != "" {
		t.Errorf("prefixes (-want +got):\n%s", diff)
	}
	if masked != 1 {
		t.Errorf("%d masked, want 1", masked)
	}
}

func TestReadErrors(t *testing.T) {
	broken := errors.New("broken")
	if _, _, err := Read(iotest.ErrReader(broken), "list"); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	tests := []struct{ list, want string }{
		{"x", `list:1: prefix "x"`},
		{"10.0.0.1\n\ny", `list:3: prefix "y"`},
		{strings.Repeat("x\n", maxFileErrors+2), "list: 2 more lines are wrong; nothing was changed"},
		{"10.0.0.1\n" + strings.Repeat("1", 1<<17), "list:2: the line is too long"},
	}
	for _, tt := range tests {
		prefixes, _, err := Read(strings.NewReader(tt.list), "list")
		if err == nil || !strings.Contains(err.Error(), tt.want) || prefixes != nil {
			t.Errorf("%d prefixes, error %v; want none, and %q", len(prefixes), err, tt.want)
		}
	}
}

// FuzzRead checks that what is accepted is canonical, and that each error says where.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"", "10.0.0.1\n", "\ufeff::1/0 # x\r\n", "x\n", "::ffff:1.2.3.4/99", "fe80::1%a\n\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		prefixes, masked, err := Read(strings.NewReader(list), "list")
		if err != nil && !strings.HasPrefix(err.Error(), "list:") {
			t.Errorf("error %q does not say where", err)
		}
		if masked > len(prefixes) {
			t.Errorf("%d masked of %d", masked, len(prefixes))
		}
		for _, p := range prefixes {
			if !p.IsValid() || wire.Prefix(p) != p {
				t.Errorf("prefix %v is not canonical", p)
			}
		}
	})
}
