package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/userspace/config"
)

// TestListeners: each way to write an address.
func TestListeners(t *testing.T) {
	for text, want := range map[string]config.Listener{
		`"127.0.0.1:8080"`:               {Network: config.NetworkTCP, Address: "127.0.0.1:8080"},
		`":8080"`:                        {Network: config.NetworkTCP, Address: ":8080"},
		`"[::ffff:127.0.0.1]:8080"`:      {Network: config.NetworkTCP, Address: "127.0.0.1:8080"},
		`"[2001:DB8:0::1]:08080"`:        {Network: config.NetworkTCP, Address: "[2001:db8::1]:8080"},
		`"[fe80::1%eth0]:8080"`:          {Network: config.NetworkTCP, Address: "[fe80::1%eth0]:8080"},
		"unix:/run/x.sock":               {Network: config.NetworkUnix, Address: "/run/x.sock"},
		"systemd:headgate-8080@1.0":      {Network: config.NetworkSystemd, Address: "headgate-8080@1.0"},
		`{address: "unix:/run/x y"}`:     {Network: config.NetworkUnix, Address: "/run/x y"},
		`{address: "0.0.0.0:8080"}`:      {Network: config.NetworkTCP, Address: "0.0.0.0:8080"},
		`["0.0.0.0:80", "[::]:80"]`:      {Network: config.NetworkTCP, Address: "0.0.0.0:80"}, // each of one family
		`["127.0.0.1:0", "[::1]:0"]`:     {Network: config.NetworkTCP, Address: "127.0.0.1:0"},
		`["127.0.0.1:0", "127.0.0.1:0"]`: {Network: config.NetworkTCP, Address: "127.0.0.1:0"}, // two that are free
		`["127.0.0.1:0", ":80"]`:         {Network: config.NetworkTCP, Address: "127.0.0.1:0"},
		`["127.0.0.1:1", "1.1.1.1:1"]`:   {Network: config.NetworkTCP, Address: "127.0.0.1:1"},
	} {
		got := parse(t, "upstream: http://127.0.0.1:9000\nlisten: "+text).Listen[0]
		want.Line = 2
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("listen: %s (-want +got):\n%s", text, diff)
		}
	}
}

// TestFamilies: 0.0.0.0 is not for IPv6, nor the reverse, so both can be listened on.
func TestFamilies(t *testing.T) {
	for address, want := range map[string]string{
		"0.0.0.0:80": "tcp4", "127.0.0.1:80": "tcp4", "[::]:80": "tcp6", "[::1]:80": "tcp6", "[fe80::1%lo]:80": "tcp6",
		":80": "tcp", "localhost:80": "tcp", "": "tcp", "[::ffff:127.0.0.1]:80": "tcp4",
	} {
		if got := (config.Listener{Network: config.NetworkTCP, Address: address}).TCP(); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
