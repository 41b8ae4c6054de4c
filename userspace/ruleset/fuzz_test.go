package ruleset_test

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/ruleset"
)

// FuzzDecide: whatever a client sends has a key of as many parts as the zone's, the same one each time.
func FuzzDecide(f *testing.F) {
	f.Add("GET", "example.com", "/a", "q=1", "c=2", "h", []byte{192, 0, 2, 1})
	f.Add("", "", "", "", "", "", []byte(nil))
	f.Add("\x00", "[::1]:1", "/../\xff", "q=%00&q=%zz", "c=\"\";c=\"1\"", "\x80", make([]byte, 16))
	f.Fuzz(func(t *testing.T, method, host, path, query, cookie, header string, addr []byte) {
		s := byKey(t, `[ip, host, path, method, "query:q", "cookie:c", "header:h"]`)
		client, _ := netip.AddrFromSlice(addr)
		r := &ruleset.Request{
			Peer: client, Method: method, Host: host, Path: path, RawQuery: query,
			Header: http.Header{"Cookie": {cookie}, "H": {header}},
		}
		first := s.Decide(r, start)
		if len(first.Limits) == 0 {
			if len(first.Skipped) != 1 || !first.Allowed {
				t.Fatal(first)
			}
			return
		}
		parts, ok := clientip.Parts(string(first.Limits[0].AppendKey(nil)))
		if !ok || len(parts) != 7 || !first.Allowed {
			t.Fatalf("%v: %q", first, parts)
		}
		if second := s.Decide(r, start); second.Allowed {
			t.Fatalf("another key: %v", second)
		}
	})
}
