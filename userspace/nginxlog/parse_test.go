package nginxlog

import (
	"net/netip"
	"testing"
)

const begin = "2026/11/30 03:23:24 [error] 4730#4730: *6 "

func TestParse(t *testing.T) {
	const tail = `, server: , request: "GET / HTTP/1.1", host: "x"`
	type want struct {
		kind   kind
		client string
		zone   string
		nested bool
	}
	tests := map[string]want{
		begin + `limiting requests, excess: 0.993 by zone "perip", client: 192.0.2.1` + tail:                                                           {refusal, "192.0.2.1", "perip", false},
		begin + `limiting requests, excess: 12.000 by zone "a b", client: 2001:db8::1` + tail:                                                          {refusal, "2001:db8::1", "a b", false},
		begin + `limiting requests, excess: 1.000 by zone "a", client: ::ffff:192.0.2.1` + tail:                                                        {refusal, "192.0.2.1", "a", false},
		begin + `limiting connections by zone "addr", client: 192.0.2.1` + tail:                                                                        {refusal, "192.0.2.1", "addr", false},
		begin + `limiting requests, excess: 1.000 by zone "a", client: unix:` + tail:                                                                   {refusal, "", "a", false},
		begin + `limiting requests, excess: 1.000 by zone "a", client: 192.0.2.1` + tail + `, referrer: "a, client: 9.9.9.9, server: "`:                {refusal, "192.0.2.1", "a", false},
		begin + `limiting requests, excess: 1.000 by zone "a", client: 192.0.2.1, server: s, request: "GET /", client: 9.9.9.9, server: x HTTP/1.1"`:   {refusal, "192.0.2.1", "a", false},
		begin + `limiting requests, excess: 1.000 by zone "a", client: 192.0.2.1, server: , request: "GET / HTTP/1.1", subrequest: "/auth", host: "x"`: {refusal, "192.0.2.1", "a", true},
		begin + `limiting requests, dry run, excess: 1.000 by zone "a", client: 192.0.2.1` + tail:                                                      {kind: clean},
		begin + `limiting connections, dry run, by zone "a", client: 192.0.2.1` + tail:                                                                 {kind: clean},
		begin + `delaying request, excess: 1.000, by zone "a", client: 192.0.2.1` + tail:                                                               {kind: clean},
		begin + `delaying request, dry run, excess: 1.000, by zone "a", client: 192.0.2.1` + tail:                                                      {kind: clean},
		begin + `limiting requests, excess: 1.000 by zone "a", client: 192.0.2.999` + tail:                                                             {kind: wild},
		begin + `limiting requests, excess: 1.000 by zone "a", client: fe80::1%eth0` + tail:                                                            {kind: wild},
		begin + `limiting requests, excess: x by zone "a", client: 192.0.2.1` + tail:                                                                   {kind: wild},
		begin + `limiting requests, excess: 1.000 by zone "a", client: 192.0.2.1`:                                                                      {kind: wild},
		begin + `open() "/srv/x" failed (2: No such file or directory), client: 192.0.2.1` + tail:                                                      {kind: suspect},
		begin + `"/srv/x/index.html" is not found (2: No such file or directory), client: 192.0.2.1` + tail:                                            {kind: suspect},
		begin + `FastCGI sent in stderr: "limiting requests" while reading, client: 192.0.2.1` + tail:                                                  {kind: wild},
		begin + `[lua] a.lua:1: limiting requests, client: 192.0.2.1` + tail:                                                                           {kind: wild},
		begin + `client sent invalid header line: "x", client: 192.0.2.1` + tail:                                                                       {kind: wild},
		"2026/11/30 03:23:24 [notice] 1#1: signal 10 (SIGUSR1) received":                                                                               {kind: own},
		"2026/11/30 03:23:24 [error] 1#1: limiting requests, excess: 1.000 by zone \"a\", client: 192.0.2.1" + tail:                                    {kind: own},
		`" failed (2: No such file or directory), client: 192.0.2.1` + tail:                                                                            {kind: rest},
		" " + begin + `limiting connections by zone "addr", client: 192.0.2.1` + tail:                                                                  {kind: rest},
		"\x00\x00" + begin + `limiting connections by zone "addr", client: 192.0.2.1` + tail:                                                           {kind: rest},
		"2026/11/30 03:23:24 [error 4730#4730: *6 x":                                                                                                   {kind: rest},
		"2026/11/30 03:23:24 [error] 4730: *6 x":                                                                                                       {kind: rest},
		"2026/11/30 03:23:24 [error] 4730#4730: *x":                                                                                                    {kind: rest},
		"2026/11/30 03:23:24 [error] 4730#4730: ":                                                                                                      {kind: own},
		"2026/11/30 03:23:24 [": {kind: rest},
		"":                      {kind: rest},
	}
	for line, w := range tests {
		got := parse([]byte(line))
		var client netip.Addr
		if w.client != "" {
			client = netip.MustParseAddr(w.client)
		}
		if got.kind != w.kind || got.nested != w.nested {
			t.Errorf("%q: kind %d, nested %v; want %+v", line, got.kind, got.nested, w)
		}
		if w.kind == refusal && (got.client != client || string(got.zone) != w.zone) {
			t.Errorf("%q: %v in %q; want %+v", line, got.client, got.zone, w)
		}
	}
}

func TestHasBreak(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "%": false, "%0": false, "%0a": true, "%0A": true, "a%%0ab": true, "%250a": true, "%2": false,
		"%250": false, "%00a": false, "%0d": false, "%25%0a": true, "0a": false, "%25": false,
	} {
		if got := hasBreak([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
