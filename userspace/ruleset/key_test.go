package ruleset_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/clientip"
	"github.com/headgate/headgate/userspace/ruleset"
)

// byKey returns rules with one zone, whose key is written as in YAML.
func byKey(t testing.TB, key string) *ruleset.Set {
	t.Helper()
	return newSet(t, `
http:
  zones:
    z: {key: `+key+`, rate: 1r/s}
  rules:
    - limits: [{zone: z}]
`)
}

func request() *ruleset.Request {
	return &ruleset.Request{
		Peer:     netip.MustParseAddr("::ffff:192.0.2.1"),
		Method:   http.MethodPost,
		Host:     "Example.COM:8080",
		Path:     "/a//b/",
		RawQuery: "x=1&%78=2&empty=&empty=7&sp=a+b%2Fc&bad=%zz&pl%2Bus=1&flag",
		Header: http.Header{
			"Appid":     {"", "app", "other"},
			"Cookie":    {"a=1; sid=\"s3\" ; sid=s4", "late=9; novalue; =x; b=x=y"},
			"X-Nothing": {""},
		},
	}
}

func TestKeys(t *testing.T) {
	for _, c := range []struct{ key, want string }{
		{`ip`, "192.0.2.1"},
		{`host`, "example.com"},
		{`path`, "/a/b/"},
		{`method`, "POST"},
		{`"const:everybody"`, "everybody"},
		{`"header:appid"`, "app"},
		{`"header:host"`, "example.com"},
		{`"cookie:sid"`, "s3"},
		{`"cookie:late"`, "9"},
		{`"cookie:b"`, "x=y"},
		{`"query:x"`, "1"},
		{`"query:empty"`, "7"},
		{`"query:sp"`, `"a b/c"`},
		{`"query:bad"`, "%zz"},
		{`"query:pl+us"`, "1"},
		{`[ip, path]`, "192.0.2.1, /a/b/"},
		{`["header:appid", ip, method]`, "app, 192.0.2.1, POST"},
	} {
		d := byKey(t, c.key).Decide(request(), start)
		if len(d.Limits) != 1 {
			t.Errorf("key %s: %v", c.key, d)
			continue
		}
		equal(t, "key "+c.key, d.Limits[0].Key(), c.want)
	}
}

// TestAbsentPart: a limit is skipped if the request lacks a part of its key, and counted as such.
func TestAbsentPart(t *testing.T) {
	for _, c := range []struct {
		key string
		why ruleset.Why
	}{
		{`"header:x-nothing"`, ruleset.Absent},
		{`"header:x-other"`, ruleset.Absent},
		{`"cookie:SID"`, ruleset.Absent},
		{`"cookie:novalue"`, ruleset.Absent},
		{`"query:none"`, ruleset.Absent},
		{`"query:flag"`, ruleset.Absent},
		{`[path, "query:X"]`, ruleset.Absent},
		{`ip`, ruleset.Unknown},
		{`[path, ip]`, ruleset.Unknown},
	} {
		s := byKey(t, c.key)
		r := request()
		r.Peer = netip.Addr{}
		d := s.Decide(r, start)
		if !d.Allowed || len(d.Limits) != 0 || len(d.Skipped) != 1 || d.Skipped[0].Why != c.why {
			t.Errorf("key %s: %v", c.key, d)
		}
		want := ruleset.Counts{Absent: 1}
		if c.why == ruleset.Unknown {
			want = ruleset.Counts{Unknown: 1}
		}
		equal(t, "zone of "+c.key, zoneCounts(t, s, "z"), want)
		want.Allowed = 1
		equal(t, "rule of "+c.key, ruleCounts(t, s, "rule 1"), want)
	}
}

// TestEmptyHostIsAKey: HTTP/1.0 may leave the host out, which is no way round a limit.
func TestEmptyHostIsAKey(t *testing.T) {
	s := byKey(t, "host")
	r := request()
	r.Host = ""
	equal(t, "allowed", passes(s, r, 3, start), 1)
}

// TestOneKeyForOneThing: other spellings of the same thing do not make new keys.
func TestOneKeyForOneThing(t *testing.T) {
	s := byKey(t, `[ip, host, path, "query:id", "cookie:sid"]`)
	spellings := []func(r *ruleset.Request){
		func(*ruleset.Request) {},
		func(r *ruleset.Request) { r.Peer = netip.MustParseAddr("192.0.2.1") },
		func(r *ruleset.Request) { r.Host = "EXAMPLE.com.:1" },
		func(r *ruleset.Request) { r.Path = "/x/..//a/./b/" },
		func(r *ruleset.Request) { r.RawQuery = "x=2&%69d=%37" },
		func(r *ruleset.Request) { r.RawQuery = "id=&id=7" },
		func(r *ruleset.Request) { r.Header = http.Header{"Cookie": {`sid="s3"`}} },
		func(r *ruleset.Request) { r.Header = http.Header{"Cookie": {"x=1", "\tsid=s3 ;"}} },
	}
	for i, spell := range spellings {
		r := request()
		r.RawQuery = "id=7"
		spell(r)
		d := s.Decide(r, start)
		equal(t, "limits", len(d.Limits), 1)
		equal(t, "allowed", d.Allowed, i == 0)
	}
}

// TestPartsAreNotRunTogether: ("a", "bc") is not ("ab", "c").
func TestPartsAreNotRunTogether(t *testing.T) {
	s := byKey(t, `["query:a", "query:b"]`)
	for _, query := range []string{"a=a&b=bc", "a=ab&b=c", "a=abc&b=%00", "a=%00a&b=bc"} {
		r := get("/")
		r.RawQuery = query
		equal(t, query, passes(s, r, 2, start), 1)
	}
}

// TestLongValues: a long value neither takes much memory nor gets around the limit, and two that
// differ anywhere have a key each.
func TestLongValues(t *testing.T) {
	s := byKey(t, `["header:a", "header:b"]`)
	long := strings.Repeat("x", 100_000)
	values := []string{long, long + "x", long[1:] + "y", "y" + long[1:], long[:256], long[:257], long[:258]}
	for _, a := range values {
		for _, b := range values {
			r := with(with(get("/"), "a", a), "b", b)
			d := s.Decide(r, start)
			equal(t, "limits", len(d.Limits), 1)
			equal(t, "allowed at first", d.Allowed, true)
			if n := len(d.Limits[0].AppendKey(nil)); n > 2*(257+2) {
				t.Errorf("key of %d bytes", n)
			}
			d.Free(start)
			equal(t, "allowed again", passes(s, r, 5, start), 0)
		}
	}
}

// TestKeyOfALongValue: it can be read, and is another than that of the text that it looks like.
func TestKeyOfALongValue(t *testing.T) {
	s := byKey(t, `"header:a"`)
	long := strings.Repeat("x", 300)
	d := s.Decide(with(get("/"), "a", long), start)
	want := fmt.Sprintf("%s~%x", long[:192], sha256.Sum256([]byte(long)))
	equal(t, "key", d.Limits[0].Key(), want)
	d = s.Decide(with(get("/"), "a", want), start)
	equal(t, "the key as a value", d.Allowed, true)
	if d.Limits[0].Key() == want {
		t.Error("two values have one key")
	}
}

func TestPrefixesOfClients(t *testing.T) {
	s := newSet(t, `
http:
  zones:
    host: {key: ip, rate: 1r/h}
    site: {key: ip, rate: 1r/h, ipv4_prefix: 24, ipv6_prefix: 48}
  rules:
    - limits: [{zone: host, burst: 1, nodelay: true}, {zone: site, burst: 4, nodelay: true}]
`)
	d := s.Decide(from("2001:db8:1:2::3", "/"), start)
	equal(t, "key of host", d.Limits[0].Key(), "2001:db8:1:2::/64")
	equal(t, "key of site", d.Limits[1].Key(), "2001:db8:1::/48")
	equal(t, "in the same /64", passes(s, from("2001:db8:1:2:ffff::1", "/"), 3, start), 1)
	equal(t, "in another /64", passes(s, from("2001:db8:1:3::1", "/"), 3, start), 2)
	equal(t, "in the last of the /48", passes(s, from("2001:db8:1:4::1", "/"), 3, start), 1)
	equal(t, "in another /48", passes(s, from("2001:db8:2::1", "/"), 3, start), 2)
	equal(t, "key of IPv4", s.Decide(from("192.0.2.1", "/"), start+time.Second).Limits[1].Key(), "192.0.2.0/24")
}

// TestClientBehindAProxy: who is charged is what the trusted proxy says.
func TestClientBehindAProxy(t *testing.T) {
	s := newSet(t, `
http:
  client_ip: {header: X-Forwarded-For, trusted_proxies: [10.0.0.0/8]}
  zones:
    perip: {key: ip, rate: 1r/s}
  rules:
    - limits: [{zone: perip}]
`)
	trusted := s.Decide(with(from("10.0.0.1", "/"), "X-Forwarded-For", "192.0.2.9, 198.51.100.7"), start)
	equal(t, "client", trusted.Client, netip.MustParseAddr("198.51.100.7"))
	equal(t, "from", trusted.ClientFrom, clientip.FromHeader)
	forged := s.Decide(with(from("203.0.113.5", "/"), "X-Forwarded-For", "198.51.100.7"), start)
	equal(t, "client", forged.Client, netip.MustParseAddr("203.0.113.5"))
	equal(t, "from", forged.ClientFrom, clientip.UntrustedPeer)
	equal(t, "allowed", forged.Allowed, true)
}
