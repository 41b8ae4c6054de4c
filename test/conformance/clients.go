package conformance

import "net/netip"

// oneAnHour is what the scenarios of who is charged limit by.
const oneAnHour = `
  zones: {perip: {key: ip, rate: 1r/h}}
  rules: [{limits: [{zone: perip}]}]
`

// first and again are the answers of oneAnHour to a client's first request, and to all that follow.
func first() Answer { return passes(`"perip";q=1;w=3600`, `"perip";r=0;t=3600`) }
func again() Answer { return refused(`"perip";q=1;w=3600`, `"perip";r=0;t=3600`, 3600) }

// clients are scenarios of who is charged.
func clients() []Scenario {
	return []Scenario{{
		"fields that anybody may write are not believed", oneAnHour, []Step{
			from("192.0.2.7", first(), "X-Forwarded-For", "203.0.113.1"),
			from("192.0.2.7", again(), "X-Forwarded-For", "203.0.113.2"),
			from("192.0.2.7", again(), "X-Real-IP", "203.0.113.3", "Forwarded", "for=203.0.113.4", "True-Client-IP", "203.0.113.5"),
			from("203.0.113.1", first()), // who was named is not charged
		},
	}, {
		"a trusted proxy is believed, and what its client forged is not", `
  client_ip: {header: X-Forwarded-For, trusted_proxies: [10.0.0.0/8]}` + oneAnHour, []Step{
			from("10.0.0.1", first(), "X-Forwarded-For", "203.0.113.1"),
			from("10.0.0.2", again(), "X-Forwarded-For", "198.51.100.99, 203.0.113.1"),
			from("10.0.0.1", again(), "X-Forwarded-For", "10.9.9.9", "X-Forwarded-For", "203.0.113.1, 10.0.0.5"),
			from("10.0.0.1", first(), "X-Forwarded-For", "203.0.113.1, 203.0.113.2"),
			from("198.51.100.99", first(), "X-Forwarded-For", "203.0.113.3"), // not a proxy: charged itself
			from("198.51.100.99", again(), "X-Forwarded-For", "203.0.113.4"),
			from("10.0.0.1", first(), "X-Forwarded-For", "203.0.113.3"), // and whom it named is not
			from("10.0.0.3", first()), // the proxy itself
			from("10.0.0.3", again(), "X-Forwarded-For", "10.0.0.3"),
		},
	}, {
		"hops are counted from the right", `
  client_ip: {header: X-Forwarded-For, trusted_proxies: [10.0.0.0/8], hops: 2}` + oneAnHour, []Step{
			from("10.0.0.1", first(), "X-Forwarded-For", "203.0.113.1, 198.51.100.1"),
			from("10.0.0.1", again(), "X-Forwarded-For", "192.0.2.99, 203.0.113.1, 198.51.100.2"),
			from("10.0.0.1", first(), "X-Forwarded-For", "203.0.113.1, 203.0.113.2, 198.51.100.1"),
			from("192.0.2.7", first(), "X-Forwarded-For", "203.0.113.9, 198.51.100.1"),
		},
	}, {
		"an IPv6 client is its /64", oneAnHour, []Step{
			from("2001:db8::1", first()),
			from("2001:db8::ffff:1:2:3", again()),
			from("2001:db8:0:1::1", first()),
			from("::ffff:192.0.2.9", first()),
			from("192.0.2.9", again()),
		},
	}, {
		"who has no address is not limited by it", oneAnHour, []Step{
			{Peer: netip.Addr{}, Want: unlimited(), Times: 3},
		},
	}}
}
