package redisconn

import (
	"net/netip"
	"testing"

	"github.com/headgate/headgate/userspace/config"
)

// Servers whose addresses are configured are known before anybody has connected to them.
func TestReachesConfigured(t *testing.T) {
	c, err := Open(Options{Config: config.Redis{Addrs: []string{"192.0.2.5:6379", "[2001:db8::5]:6379", "redis.example:6379"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for prefix, want := range map[string]bool{
		"192.0.2.5/32": true, "192.0.2.0/24": true, "192.0.2.6/32": false, "2001:db8::5/128": true, "2001:db8::6/128": false,
	} {
		if got := c.Reaches(netip.MustParsePrefix(prefix)); got != want {
			t.Errorf("%s: %v, want %v", prefix, got, want)
		}
	}
}
