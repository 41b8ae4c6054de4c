package envoy

import (
	"net/http"
	"net/netip"
	"testing"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/userspace/ruleset"
)

// asked is what is asked about descriptors, without what is the same for all.
type asked struct {
	Request ruleset.Request
	Of      []int
}

func questionCases() map[string]struct {
	descriptors []*commonv3.RateLimitDescriptor
	want        []asked
} {
	type all = []*commonv3.RateLimitDescriptor
	host := netip.MustParseAddr("192.0.2.7")
	fields := func(list ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(list); i += 2 {
			h[list[i]] = append(h[list[i]], list[i+1])
		}
		return h
	}
	one := func(r ruleset.Request, of ...int) []asked {
		r.Units = 1
		return []asked{{r, of}}
	}
	return map[string]struct {
		descriptors []*commonv3.RateLimitDescriptor
		want        []asked
	}{
		"names": {
			all{descriptor("remote_address", "192.0.2.7", "path", "/%61?b=c", "method", "PUT", "host", "a.example", "User_id", "7", "generic_key", "x")},
			one(ruleset.Request{Peer: host, Path: "/a", RawQuery: "b=c", Method: "PUT", Host: "a.example", Header: fields("User_id", "7", "Generic_key", "x")}, 0),
		},
		"pseudo names": {
			all{descriptor(":path", "/a", ":method", "PUT", ":authority", "a.example", ":scheme", "https")},
			one(ruleset.Request{Path: "/a", Method: "PUT", Host: "a.example"}, 0),
		},
		"authority":                 {all{descriptor("authority", "a.example")}, one(ruleset.Request{Host: "a.example"}, 0)},
		"mapped":                    {all{descriptor("remote_address", "::ffff:192.0.2.7")}, one(ruleset.Request{Peer: host}, 0)},
		"nonsense":                  {all{descriptor("remote_address", "nonsense", "masked_remote_address", "nonsense")}, one(ruleset.Request{}, 0)},
		"network":                   {all{descriptor("masked_remote_address", "192.0.2.0/24")}, one(ruleset.Request{Peer: netip.MustParseAddr("192.0.2.0")}, 0)},
		"network of the peer":       {all{descriptor("masked_remote_address", "192.0.2.0/24"), descriptor("remote_address", "192.0.2.7")}, one(ruleset.Request{Peer: host}, 0, 1)},
		"network after the peer":    {all{descriptor("remote_address", "192.0.2.7"), descriptor("masked_remote_address", "192.0.2.0/24")}, one(ruleset.Request{Peer: host}, 0, 1)},
		"first of a descriptor":     {all{descriptor("path", "/a", "path", "/b", "method", "A", "method", "B")}, one(ruleset.Request{Path: "/a", Method: "A"}, 0)},
		"several of one name":       {all{descriptor("user", "a", "user", "b")}, one(ruleset.Request{Header: fields("User", "a", "User", "b")}, 0)},
		"they complete each other":  {all{descriptor("user", "a"), descriptor("path", "/x", "user", "a"), descriptor("method", "GET", "team", "t")}, one(ruleset.Request{Path: "/x", Method: "GET", Header: fields("User", "a", "Team", "t")}, 0, 1, 2)},
		"they contradict in fields": {all{descriptor("user", "a"), descriptor("user", "b"), descriptor("user", "a", "x", "y")}, append(one(ruleset.Request{Header: fields("User", "a", "X", "y")}, 0, 2), one(ruleset.Request{Header: fields("User", "b")}, 1)...)},
		"they contradict in peers":  {all{descriptor("remote_address", "192.0.2.7"), descriptor("remote_address", "192.0.2.8")}, append(one(ruleset.Request{Peer: host}, 0), one(ruleset.Request{Peer: host.Next()}, 1)...)},
		"another network":           {all{descriptor("remote_address", "192.0.2.7"), descriptor("masked_remote_address", "198.51.100.0/24")}, append(one(ruleset.Request{Peer: host}, 0), one(ruleset.Request{Peer: netip.MustParseAddr("198.51.100.0")}, 1)...)},
		"they contradict in query":  {all{descriptor("path", "/a?b"), descriptor("path", "/a")}, append(one(ruleset.Request{Path: "/a", RawQuery: "b"}, 0), one(ruleset.Request{Path: "/a"}, 1)...)},
		"they contradict in hits":   {all{descriptor("user", "a"), hits(1, "team", "t"), hits(2, "path", "/")}, append(one(ruleset.Request{Header: fields("User", "a", "Team", "t")}, 0, 1), asked{ruleset.Request{Path: "/", Units: 2}, []int{2}})},
	}
}

// Descriptors describe one request unless they contradict each other.
func TestQuestions(t *testing.T) {
	conn := netip.MustParseAddr("127.0.0.1")
	for name, c := range questionCases() {
		t.Run(name, func(t *testing.T) {
			var l limits
			if err := reading(t, limitRequest(c.descriptors...))(&l); err != nil {
				t.Fatal(err)
			}
			equal(t, "negative", l.ask(), 0)
			questions := l.questions
			var got []asked
			for i := range questions {
				got = append(got, asked{*questions[i].request(conn, questions[i].hits), questions[i].of})
			}
			for i := range c.want {
				c.want[i].Request.Conn, c.want[i].Request.Hearsay = conn, true
			}
			if diff := cmp.Diff(c.want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
