package ipproto_test

import (
	"testing"

	"github.com/headgate/headgate/userspace/ipproto"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]uint8{
		"tcp": 6, "UDP": 17, "icmp": 1, "icmpv6": 58, "Sctp": 132, "dccp": 33, "udplite": 136, "gre": 47, "esp": 50, "ah": 51, "igmp": 2,
		"0": 0, "6": 6, "255": 255,
	} {
		if got, ok := ipproto.Parse(text); got != want || !ok {
			t.Errorf("%s = %d, %t; want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "-1", "256", "tpc", "6.0", " tcp", "any"} {
		if got, ok := ipproto.Parse(text); ok {
			t.Errorf("%q = %d, want nothing", text, got)
		}
	}
}

// TestNamesGoBothWays: each number has a text that is read as it, and each name is that of its number.
func TestNamesGoBothWays(t *testing.T) {
	for number := range 256 {
		if back, ok := ipproto.Parse(ipproto.Name(uint8(number))); !ok || int(back) != number {
			t.Errorf("%d is called %s, which is %d", number, ipproto.Name(uint8(number)), back)
		}
	}
	for _, name := range ipproto.Names() {
		if number, ok := ipproto.Parse(name); !ok || ipproto.Name(number) != name {
			t.Errorf("%s is %d, which is called %s", name, number, ipproto.Name(number))
		}
	}
}

func TestHasPorts(t *testing.T) {
	for number := range 256 {
		want := number == 6 || number == 17 || number == 33 || number == 132 || number == 136
		if got := ipproto.HasPorts(uint8(number)); got != want {
			t.Errorf("%d: %t, want %t", number, got, want)
		}
	}
}
