package redisconn

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// Addresses that were dialed are known as those of servers, the last ones if they are many.
func TestPeers(t *testing.T) {
	c := &Conn{peers: new(peers)}
	now := time.Now()
	for i, at := range []string{"192.0.2.1:6379", "[::ffff:192.0.2.2]:6379", "[fe80::1%eth0]:6379", "/run/redis.sock"} {
		c.peers.note(at, now.Add(time.Duration(i)))
	}
	for prefix, want := range map[string]bool{
		"192.0.2.1/32": true, "192.0.2.2/32": true, "192.0.2.3/32": false, "192.0.0.0/16": true, "fe80::/64": true, "2001:db8::/32": false,
	} {
		if got := c.Reaches(netip.MustParsePrefix(prefix)); got != want {
			t.Errorf("%s: %v, want %v", prefix, got, want)
		}
	}
	for i := range mostPeers - 1 {
		c.peers.note(fmt.Sprintf("10.0.%d.%d:6379", i/256, i%256), now.Add(time.Second))
	}
	if c.Reaches(netip.MustParsePrefix("192.0.2.0/30")) || !c.Reaches(netip.MustParsePrefix("fe80::1/128")) || len(c.peers.last) != mostPeers {
		t.Errorf("%d are known", len(c.peers.last))
	}
	if new(Conn).Reaches(netip.MustParsePrefix("0.0.0.0/0")) {
		t.Error("nobody was dialed")
	}
}
