package lockout

import (
	"net/netip"
	"testing"
)

func TestParseSSH(t *testing.T) {
	tests := []struct {
		text, addr string
		port       uint16
	}{
		{"203.0.113.9 50000 192.0.2.1 22", "203.0.113.9", 22},
		{"2001:db8::9 50000 2001:db8::1 2222", "2001:db8::9", 2222},
		{"fe80::9%eth0 50000 fe80::1%eth0 22", "fe80::9", 22},
		{"::ffff:203.0.113.9 50000 ::ffff:192.0.2.1 22", "203.0.113.9", 22},
	}
	for _, tt := range tests {
		got, ok := parseSSH(tt.text)
		if !ok || got.Addr != netip.MustParseAddr(tt.addr) || got.Port != tt.port {
			t.Errorf("%q: %v, port %d, %t", tt.text, got, got.Port, ok)
		}
	}
	for _, text := range []string{"", "none", "203.0.113.9", "host 50000 192.0.2.1 22", "203.0.113.9 50000 192.0.2.1 ssh", "203.0.113.9 1 192.0.2.1 65536", "1.1.1.1 1 1.1.1.1 22 x"} {
		if got, ok := parseSSH(text); ok {
			t.Errorf("%q is %v, want nothing", text, got)
		}
	}
	if got := (Peer{Addr: netip.MustParseAddr("203.0.113.9"), What: "this SSH session"}).String(); got != "203.0.113.9, this SSH session" {
		t.Errorf("%q", got)
	}
}

func TestMayArriveOn(t *testing.T) {
	tests := []struct {
		peer, interfaces []int
		want             bool
	}{
		{[]int{2, 3}, []int{3, 4}, true},
		{[]int{2, 3}, []int{4}, false},
		{[]int{2, 3}, nil, false},
		{[]int{2, 3}, []int{4, Unknown}, true},
		{nil, []int{4}, true},
		{nil, nil, true},
	}
	for _, tt := range tests {
		if got := (Peer{Interfaces: tt.peer}).MayArriveOn(tt.interfaces); got != tt.want {
			t.Errorf("%v on %v: %t", tt.peer, tt.interfaces, got)
		}
	}
}
