package clientip_test

import (
	"net/netip"
	"testing"

	"github.com/headgate/headgate/userspace/clientip"
)

// TestMasked has one client for each of its addresses.
func TestMasked(t *testing.T) {
	for _, test := range []struct {
		addr       string
		ipv4, ipv6 int
		want       string
	}{
		{"192.0.2.129", 0, 0, "192.0.2.129/32"},
		{"192.0.2.129", 24, 48, "192.0.2.0/24"},
		{"192.0.2.129", 25, 0, "192.0.2.128/25"},
		{"192.0.2.129", 128, 0, "192.0.2.129/32"},
		{"::ffff:192.0.2.129", 24, 48, "192.0.2.0/24"},
		{"2001:db8:1:2:3:4:5:6", 0, 0, "2001:db8:1:2::/64"},
		{"2001:db8:1:2:3:4:5:6", -1, -1, "2001:db8:1:2::/64"},
		{"2001:db8:1:2:3:4:5:6", 24, 44, "2001:db8::/44"},
		{"2001:db8:1:2:3:4:5:6", 24, 200, "2001:db8:1:2:3:4:5:6/128"},
		{"fe80::1%eth0", 0, 0, "fe80::1/128"},
		{"fe80::1", 24, 48, "fe80::1/128"},
		{"fe80:0:0:1::1", 0, 0, "fe80:0:0:1::/64"},
		{"169.254.1.2", 16, 0, "169.254.0.0/16"},
		{"::", 0, 0, "::/64"},
	} {
		got := clientip.Masked(addr(test.addr), test.ipv4, test.ipv6)
		if got.String() != test.want {
			t.Errorf("%s by %d and %d bits: %s, want %s", test.addr, test.ipv4, test.ipv6, got, test.want)
		}
	}
	if got := clientip.Masked(netip.Addr{}, 24, 48); got.IsValid() {
		t.Errorf("no address: %s", got)
	}
}

// TestCase06IPv6ClientIsItsNetwork goes through a /64 as one client can.
func TestCase06IPv6ClientIsItsNetwork(t *testing.T) {
	for _, test := range []struct {
		bits int
		same string // the last address of the client's
		next string // the first of another client's
	}{
		{0, "2001:db8:a:b:ffff:ffff:ffff:ffff", "2001:db8:a:c::"},
		{56, "2001:db8:a:ff:ffff:ffff:ffff:ffff", "2001:db8:a:100::"},
		{48, "2001:db8:a:ffff:ffff:ffff:ffff:ffff", "2001:db8:b::"},
		{128, "2001:db8:a:b::1", "2001:db8:a:b::2"},
	} {
		r := mustNew(t, clientip.Options{IPv6Prefix: test.bits})
		key := func(text string) string { return string(r.AppendKey(nil, addr(text))) }
		if own := key("2001:db8:a:b::1"); own != key(test.same) || own == key(test.next) {
			t.Errorf("%d bits: %s is another client or %s is not", test.bits, test.same, test.next)
		}
	}
}

// TestCase07DefaultIsSafe shows that whoever configures nothing has IPv6 by
// network and believes nobody.
func TestCase07DefaultIsSafe(t *testing.T) {
	r := mustNew(t, clientip.Options{})
	got := r.Client(addr("2001:db8:a:b::1"), xff(victim))
	if key := r.Prefix(got.Addr); key != netip.MustParsePrefix("2001:db8:a:b::/64") {
		t.Errorf("charged %s", key)
	}
}

// TestCase08Tiers counts one client by several lengths at once, in keys that may
// be in one table.
func TestCase08Tiers(t *testing.T) {
	const near, far = "2001:db8:a:b::1", "2001:db8:a:c::1"
	keys := map[string]string{}
	for _, bits := range []int{32, 48, 64} {
		key := func(text string) string {
			return string(clientip.AppendPrefix(nil, clientip.Masked(addr(text), 0, bits)))
		}
		keys[key(near)] = clientip.Describe(key(near))
		if same := key(near) == key(far); same != (bits < 64) {
			t.Errorf("%d bits: one client %v", bits, same)
		}
	}
	if len(keys) != 3 {
		t.Errorf("tiers share keys: %v", keys)
	}
	// What is one number of bytes is still two tiers, and two networks.
	zero := map[string]bool{}
	for _, prefix := range prefixes("::/64", "::/63", "::/0", "0.0.0.0/0", "0.0.0.0/32") {
		zero[string(clientip.AppendPrefix(nil, prefix))] = true
	}
	if len(zero) != 5 {
		t.Errorf("%d keys of 5 prefixes", len(zero))
	}
}

// TestCase09OneSpelling has one bucket for all spellings of an address, and two
// for what only looks alike when joined.
func TestCase09OneSpelling(t *testing.T) {
	r := mustNew(t, clientip.Options{Header: "X-Forwarded-For", Hops: 1, IPv6Prefix: 128})
	for _, spellings := range [][]string{
		{"192.0.2.1", "::ffff:192.0.2.1", "::FFFF:c000:201", "0:0:0:0:0:ffff:192.0.2.1", "[::ffff:192.0.2.1]:80", "192.0.2.1:80", " 192.0.2.1\t"},
		{"2001:db8::1", "2001:DB8::1", "2001:0db8:0:0:0:0:0:1", "[2001:db8::0:1]", "[2001:db8::1]:443", "2001:db8::1%eth0", "2001:db8::0.0.0.1"},
	} {
		keys := map[string]bool{}
		for _, spelling := range spellings {
			got := r.Client(addr("10.0.0.1"), xff(spelling))
			keys[string(r.AppendKey(nil, got.Addr))] = true
			if got.Reason != clientip.FromHeader {
				t.Errorf("%q is %s", spelling, got.Reason)
			}
		}
		if len(keys) != 1 {
			t.Errorf("%q: %d keys", spellings, len(keys))
		}
	}
	key := func(ip, path string) string { return string(clientip.AppendPart(r.AppendKey(nil, addr(ip)), path)) }
	if key("192.0.2.1", "0/x") == key("192.0.2.10", "/x") {
		t.Error("two clients share a key")
	}
}
