package policymap

import (
	"net/netip"
	"strings"
	"testing"
)

func TestCheckWhole(t *testing.T) {
	config := NewConfig()
	config.IPv4Prefix = 24
	for prefix, want := range map[string]string{
		"0.0.0.0/0": "", "10.0.0.0/24": "", "::/0": "", "2001:db8::/64": "",
		"fe80::1/128": "", "fe80::/65": "", // link-local ones are not cut
		"10.0.0.128/25":          "IPv4 sources are /24 here, so 10.0.0.128/25 is a part of one: limit 10.0.0.0/24",
		"2001:db8:1:2::1/128":    "IPv6 sources are /64 here, so 2001:db8:1:2::1/128 is a part of one: limit 2001:db8:1:2::/64",
		"fec0::/65":              "IPv6 sources are /64",
		"2001:db8:1:2:8000::/65": "limit 2001:db8:1:2::/64",
	} {
		err := config.CheckWhole(netip.MustParsePrefix(prefix))
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", prefix, err, want)
		}
	}
}
