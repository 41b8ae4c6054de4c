package openapi_test

import (
	"net/http"
	"testing"

	"github.com/headgate/headgate/test/need"
)

// configuration has DIR for the directory of sockets, and IFACE for the interface. Redis is in its namespace.
const configuration = `
kernel:
  interfaces: [IFACE]
  default: {rate: 10kpps, burst: 20k, bandwidth: 100Mbit/s}
  policies: [{name: dns, proto: udp, port: 53, rate: 50pps, burst: 100}]
  rules: [{prefix: 203.0.113.0/24, limit: {rate: 100pps}}, {prefix: 10.0.0.0/8, allow: true}, {prefix: 192.0.2.0/24, block: true}]
listen: ["unix:DIR/web.sock"]
upstream: ["http://127.0.0.1:9"]
handdown: {after: 20, within: 10s, action: block, for: 1m}
adaptive: {latency: {percentile: 95, target: 200ms}, floor: 0.1}
admin: {socket: DIR/admin.sock}
http:
  client_ip: {header: X-Forwarded-For, trusted_proxies: [unix]}
  zones:
    perip: {key: ip, rate: 10r/s}
    slots: {key: [ip, path], concurrent: 4}
    fleetwide: {key: ip, rate: 100r/s, store: redis}
  rules: [{limits: [{zone: perip, burst: 20, nodelay: true}, {zone: slots}, {zone: fleetwide, burst: 20, nodelay: true}]}]
redis: {addrs: [127.0.0.1:6379]}
fleet: {max_published: 60}
`

// requests are of all operations but the stream of events, in this order.
func requests() []request {
	const ok = http.StatusOK
	return []request{
		{"GET", "/v1/status", "", ok},
		{"GET", "/v1/openapi.json", "", ok},
		{"GET", "/v1/zones", "", ok},
		{"GET", "/v1/zones/perip", "", ok},
		{"PATCH", "/v1/zones/perip", `{"rate":"20r/s"}`, ok},
		{"GET", "/v1/zones/perip/keys?n=5", "", ok},
		{"GET", "/v1/zones/slots/keys", "", ok},
		{"GET", "/v1/zones/slots/key?part=198.51.100.7&part=%2Flogin", "", ok},
		{"GET", "/v1/zones/perip/key?part=198.51.100.7", "", ok},
		{"DELETE", "/v1/zones/perip/key?part=198.51.100.7", "", ok},
		{"GET", "/v1/rules", "", ok},
		{"PUT", "/v1/rules", `{"prefix":"198.51.100.0/24","action":"limit","rate":"100pps","for":"10m"}`, ok},
		{"GET", "/v1/rules?action=limit&origin=cli", "", ok},
		{"DELETE", "/v1/rules?prefix=198.51.100.0/24", "", ok},
		{"GET", "/v1/policies", "", ok},
		{"PUT", "/v1/policies/web", `{"proto":"tcp","ports":"80","rate":"50pps","burst":100}`, ok},
		{"DELETE", "/v1/policies/web", "", ok},
		{"GET", "/v1/top", "", ok},
		{"POST", "/v1/reports", `{"prefix":"198.51.100.7","reason":"failed login","count":20}`, ok},
		{"GET", "/v1/offenders?n=10", "", ok},
		{"GET", "/v1/fleet", "", ok},
		{"PUT", "/v1/fleet/rules", `{"prefixes":["198.51.100.9","2001:db8::/32"],"action":"limit","rate":"100pps","for":"10m","reason":"scans"}`, ok},
		{"GET", "/v1/fleet/rules", "", ok},
		{"DELETE", "/v1/fleet/rules?prefix=198.51.100.9&prefix=2001:db8::/32", "", ok},
		{"POST", "/v1/reload", "{}", ok},

		{"GET", "/v1/top?n=0", "", http.StatusBadRequest},
		{"GET", "/v1/zones/perip/key", "", http.StatusBadRequest},
		{"PUT", "/v1/rules", `{"action":"block"}`, http.StatusBadRequest},
		{"GET", "/v1/zones/none", "", http.StatusNotFound},
		{"DELETE", "/v1/policies/none", "", http.StatusNotFound},
		{"PATCH", "/v1/zones/perip", `{}`, http.StatusUnprocessableEntity},
		{"PUT", "/v1/rules", `{"prefix":"203.0.113.7/24","action":"block"}`, http.StatusUnprocessableEntity},
		{"POST", "/v1/reports", `{"prefix":"198.51.100.0/24"}`, http.StatusUnprocessableEntity},
		{"PUT", "/v1/fleet/rules", `{"prefixes":[],"action":"block"}`, http.StatusUnprocessableEntity},
		{"PUT", "/v1/fleet/rules", `{"action":"block"}`, http.StatusBadRequest},
		{"DELETE", "/v1/fleet/rules", "", http.StatusBadRequest},

		{"POST", "/v1/drain", "{}", ok},
	}
}

// An agent with all sections, as a process that limits a real interface, answers what its description says.
func TestAgent(t *testing.T) {
	need.Root(t)
	d, a := describe(t), startAgent(t)
	d.connect(t, a.path("admin.sock"))
	d.limit(t, a.path("web.sock"))
	d.wantOwn(t)
	event := d.follow(t)
	for _, r := range requests() {
		d.check(t, r)
	}
	event()
	d.wantAllAsked(t)
	if <-a.ended; a.err != nil {
		t.Errorf("the agent ended after it was drained: %v", a.err)
	}
}

// limit makes requests to the proxy, so that zones have keys.
func (d *described) limit(t *testing.T, socket string) {
	t.Helper()
	web := &described{}
	web.connect(t, socket)
	r := web.request(t, request{method: http.MethodGet, target: "/login"})
	r.Header.Set("X-Forwarded-For", "198.51.100.7")
	response, err := web.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("status %d of a proxy before nothing", response.StatusCode)
	}
}
