package dialed

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"
)

// The last addresses that were dialed are known.
func TestIn(t *testing.T) {
	var a Addrs
	if a.In(netip.MustParsePrefix("0.0.0.0/0")) {
		t.Error("nobody was dialed")
	}
	now := time.Now()
	for i, at := range []string{"192.0.2.1:6379", "[::ffff:192.0.2.2]:6379", "[fe80::1%eth0]:6379", "/run/redis.sock"} {
		a.note(at, now.Add(time.Duration(i)))
	}
	for prefix, want := range map[string]bool{
		"192.0.2.1/32": true, "192.0.2.2/32": true, "192.0.2.3/32": false, "192.0.0.0/16": true, "fe80::/64": true, "2001:db8::/32": false,
	} {
		if got := a.In(netip.MustParsePrefix(prefix)); got != want {
			t.Errorf("%s: %v, want %v", prefix, got, want)
		}
	}
	for i := range most - 1 {
		a.note(fmt.Sprintf("10.0.%d.%d:6379", i/256, i%256), now.Add(time.Second))
	}
	if a.In(netip.MustParsePrefix("192.0.2.0/30")) || !a.In(netip.MustParsePrefix("fe80::1/128")) || len(a.last) != most {
		t.Errorf("%d are known", len(a.last))
	}
}

// An address in a file is known by what it says, and a name when it was looked up.
func TestNames(t *testing.T) {
	fresh := 0
	a := Addrs{New: func() { fresh++ }}
	for _, name := range []string{"localhost", "127.0.0.9", "127.0.0.9", ""} {
		if err := a.LookUp(t.Context(), name); (err != nil) != (name == "") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if fresh != len(a.last) || fresh < 2 {
		t.Errorf("told of %d new addresses, of %d", fresh, len(a.last))
	}
	for prefix, want := range map[string]bool{"127.0.0.1/32": true, "127.0.0.9/32": true, "127.0.0.2/32": false} {
		if got := a.In(netip.MustParsePrefix(prefix)); got != want {
			t.Errorf("%s: %v, want %v", prefix, got, want)
		}
	}
	for _, one := range []struct {
		host, prefix string
		want         bool
	}{
		{"192.0.2.1", "192.0.2.0/24", true}, {"::ffff:192.0.2.1", "192.0.2.0/24", true}, {"fe80::1%eth0", "fe80::/64", true},
		{"192.0.2.1", "192.0.3.0/24", false}, {"localhost", "127.0.0.0/8", false}, {"", "0.0.0.0/0", false},
	} {
		if got := IsIn(one.host, netip.MustParsePrefix(one.prefix)); got != one.want {
			t.Errorf("%q in %s: %v", one.host, one.prefix, got)
		}
	}
}

// Who does not answer is known too, by the address of its name.
func TestControl(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	var a Addrs
	if conn, err := (&net.Dialer{Control: a.Control}).DialContext(t.Context(), "tcp4", net.JoinHostPort("localhost", port)); err == nil {
		conn.Close()
	}
	if !a.In(netip.MustParsePrefix("127.0.0.1/32")) {
		t.Error("who was dialed is not known")
	}
}
