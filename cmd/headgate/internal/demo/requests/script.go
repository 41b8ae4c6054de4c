// Package requests is the demo's second act: an agent serves a proxy in front of a backend, a client floods it with
// requests, and is handed down to the kernel, while another client is served as if nothing were. All of them are
// processes, in two network namespaces.
//
// Each number is compared with theory, or with what somebody else has counted: the clients, the backend, the agent's
// zone, the kernel's limiter, and the interface. Theory knows when requests were decided about only to within a round
// trip, so a machine that stalls gets wider bounds, but no wrong result.
package requests

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/demo/part"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
)

// Interface is what the agent attaches to. It exists in a network namespace of the demo only.
const Interface = "demo1"

// member is one of the cast of clients.
type member struct {
	addr netip.Addr
	part string
	role string
}

// The places in the cast.
const (
	flooder = iota
	visitor
)

func cast() []member {
	return []member{
		flooder: {netip.MustParseAddr("203.0.113.66"), part.Flooder, "floods, on 16 connections"},
		visitor: {netip.MustParseAddr("203.0.113.7"), part.Visitor, "50 a second, each on a new connection"},
	}
}

// proxy and backend are where the servers listen.
func proxy() netip.AddrPort   { return netip.MustParseAddrPort("203.0.113.1:8080") }
func backend() netip.AddrPort { return netip.MustParseAddrPort("127.0.0.1:9000") }

// The limit of each client.
const (
	perSecond = 100
	burst     = 20 // beside the first request
	zone      = "perip"
)

// shown is what responses say of the limit.
func shown() part.Limit { return part.Limit{Zone: zone, Quota: burst + 1, Window: 1} }

// params returns the limit as theory knows it. A burst of N with nodelay is N+1 requests at once, as in nginx.
func params() (limit.Params, error) {
	return limit.Compile(rate.Rate{Count: perSecond, Per: time.Second}, burst+1)
}

// When a client is handed down, and for how long at first.
const (
	offences = 20
	within   = 10 * time.Second
)

// script is the act for seconds of a given length.
type script struct {
	alone  time.Duration // how long nobody floods
	floods time.Duration // how long the first flood lasts
	block  time.Duration // how long the first block does
	again  time.Duration // how long the second one is looked at
}

func newScript(second time.Duration) script {
	return script{alone: second, floods: 2 * second, block: max(2*second, time.Second), again: second / 2}
}

// configuration is the name of the agent's file.
const configuration = "headgate.yaml"

// file is the agent's configuration, but for the hand-down.
func file(socket string) string {
	return strings.TrimLeft(fmt.Sprintf(`
kernel: {interfaces: [%s], max_sources: 10k, max_rules: 1k}
listen: [%q]
upstream: ["http://%s"]
admin: {socket: %s}
http:
  zones: {%s: {key: ip, rate: %dr/s}}
  rules: [{limits: [{zone: %s, burst: %d, nodelay: true}]}]
`, Interface, proxy().String(), backend(), socket, zone, perSecond, zone, burst), "\n")
}

// handDown is the section that has offenders handed down.
func (s script) handDown() string {
	return fmt.Sprintf("handdown: {after: %d, within: %s, action: block, for: %s}", offences, within, s.block)
}

func intro() string {
	return fmt.Sprintf(`Now requests: the first namespace has two clients, the second a proxy, which is headgate, and a backend behind
it. Each client gets %d requests a second, and %d more at once. All of them are processes of their own.`, perSecond, burst)
}

// phase is a part of the script.
type phase struct {
	title string
	short string // in the summary
}

// The phases, in their order.
func alone() phase {
	return phase{"Nobody floods: all requests pass.", "nobody floods"}
}

func limited() phase {
	return phase{"One client floods. What is above its limit is refused with 429, and the other one notices nothing.", "refused"}
}

func handedDown() phase {
	return phase{
		fmt.Sprintf("Who is refused %d times within %s is handed down: the kernel drops its packets, on open connections too.",
			offences, within), "handed down",
	}
}

func again() phase {
	return phase{"The block has ended by itself. The client may come again, floods again, and is out for twice as long.", "again"}
}
