package e2e_test

import (
	"net/http"
	"net/netip"
	"testing"
)

// strangers is a site at which all sources that are not verified may send 300 packets together, for a long time. The
// first request for /once is allowed, whoever sends it.
const strangers = `
kernel:
  interfaces: [IFACE]
  max_sources: 4096
  policies: [{name: strangers, unverified: true, key: shared, rate: 1pph, burst: 300}]
listen: ["0.0.0.0:8080"]
upstream: ["http://127.0.0.1:9000"]
admin: {socket: DIR/admin.sock}
http:
  client_ip: {header: X-Forwarded-For, trusted_proxies: [` + third + `]}
  zones: {once: {key: host, rate: 1r/h}}
  rules: [{match: {path: /once}, limits: [{zone: once}]}]
`

// counted returns what the policy strangers has let pass and dropped.
func (s *site) counted() (pass, drop int) {
	s.tb.Helper()
	for _, p := range s.stats().Policies {
		if p.Name == "strangers" {
			pass, drop = int(p.Pass.Packets), int(p.Drop.Packets)
		}
	}
	return pass, drop
}

// awaitVerified waits until so many sources are verified.
func (s *site) awaitVerified(n int) {
	s.tb.Helper()
	await(s.tb, itoa(n)+" verified sources", func() bool { return s.stats().VerifiedSources == n })
}

// spoof sends n packets, each from another address that nobody has, and returns how many arrived.
func (s *site) spoof(n int) (arrived int) {
	s.tb.Helper()
	var frames [][]byte
	for i := range n {
		frames = append(frames, udp(netip.AddrFrom4([4]byte{100, 64, byte(i >> 8), byte(i)}).String()))
	}
	for _, c := range s.exchange(frames...) {
		arrived += int(c.Packets)
	}
	return arrived
}

// A flood from forged addresses has what all strangers have together and nothing else, and who has sent a request before loses nothing.
func TestAgentSpoofedFlood(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	s.start(strangers)
	client := s.browser(modest)
	client.Transport.(*http.Transport).DisableKeepAlives = true
	client.wantStatuses(1, 1)
	s.awaitVerified(1)
	used, dropped := s.counted()
	if used == 0 || dropped != 0 {
		t.Errorf("before the flood %d packets of strangers passed and %d were dropped", used, dropped)
	}

	const flood = 2000
	if got, want := s.spoof(flood), 300-used; got != want {
		t.Errorf("%d packets of the flood passed, want %d", got, want)
	}
	client.wantStatuses(50, 50) // each by a connection of its own
	s.wantPassed(modest, 500, 500)
	if got := s.spoof(flood); got != 0 {
		t.Errorf("%d packets of more of it passed", got)
	}
	client.wantStatuses(50, 50)

	pass, drop := s.counted()
	if want := 2*flood - (300 - used); pass != 300 || drop != want {
		t.Errorf("of strangers %d packets passed and %d were dropped, want 300 and %d", pass, drop, want)
	}
	s.wantPassed(neighbour, 10, 0) // a stranger as the others
}

// A request that is refused proves nothing, and one that a proxy brings proves who the proxy is.
func TestAgentVerifiesNobodyElse(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	s.start(strangers)
	s.browser(modest).get("/once")
	s.awaitVerified(1)
	for range 3 {
		if got := s.browser(neighbour).get("/once").status; got != http.StatusTooManyRequests {
			t.Errorf("status %d, want 429", got)
		}
	}
	s.browser(third).wantStatuses(3, 3, "X-Forwarded-For", flooder) // a trusted proxy
	s.awaitVerified(2)
	s.browser(modest).wantStatuses(3, 3, "X-Forwarded-For", neighbour) // no trusted one
	s.spoof(300)
	for source, want := range map[string]int{modest: 20, third: 20, neighbour: 0, flooder: 0} {
		s.wantPassed(source, 20, want)
	}
	s.awaitVerified(2)
}

// A verified source that is handed down is verified no more.
func TestAgentOffenderIsUnverified(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	s.start(strangers + "handdown: {after: 3, within: 10s, action: limit, rate: 1kpps, burst: 50k, for: 1h}\n")
	s.browser(flooder).wantStatuses(1, 1)
	s.awaitVerified(1)
	for range 4 {
		s.browser(flooder).get("/once")
	}
	await(t, "a limit for the offender", func() bool { return s.rulesByPrefix()[flooder+"/32"] == "limit handdown" })
	s.awaitVerified(0)
	s.spoof(300)
	s.wantPassed(flooder, 20, 0)
}
