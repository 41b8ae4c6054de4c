package ruleset_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/ruleset"
)

const simple = `
http:
  zones:
    perip: {key: ip, rate: 1000000r/s}
  rules:
    - limits: [{zone: perip, burst: 1000, nodelay: true}]
`

const layered = `
http:
  allow: [10.0.0.0/8, 2001:db8::/32]
  zones:
    perip:
      key: ip
      rate: 1000000r/s
      overrides: [{value: 2001:db8::/64, rate: 1r/s}, {value: 192.0.2.0/24, rate: 1000001r/s}]
      allow: [198.51.100.1, 2001:db8::1]
    login:  {key: [ip, path], rate: 1000000r/s}
    perapp: {key: ["header:appid", "cookie:sid", "query:a"], rate: 1000000r/s}
    slots:  {key: ip, concurrent: 10}
  rules:
    - match: {host: example.com, path: /login, method: [POST]}
      limits: [{zone: login, burst: 5, nodelay: true}]
    - match: {path: "/api/*"}
      continue: true
      limits: [{zone: perapp, burst: 5, nodelay: true}, {zone: login, burst: 10, nodelay: true}]
    - limits: [{zone: perip, burst: 1000, nodelay: true}, {zone: slots}]
`

func BenchmarkDecide(b *testing.B) {
	for _, c := range []struct{ name, file string }{{"one", simple}, {"four", layered}} {
		b.Run(c.name, func(b *testing.B) {
			s := newSet(b, c.file)
			r := items()
			now := start
			b.ReportAllocs()
			for b.Loop() {
				now += time.Microsecond
				d := s.Decide(r, now)
				if !d.Allowed {
					b.Fatal(d)
				}
				d.Free(now)
			}
		})
	}
}

// items returns a request that all limits of the rules apply to.
func items() *ruleset.Request {
	r := with(with(get("/api/items"), "Appid", "7"), "Cookie", "theme=dark; sid=0123456789abcdef")
	r.Host, r.RawQuery = "example.com:443", "page=2&a=b%20c"
	return r
}
