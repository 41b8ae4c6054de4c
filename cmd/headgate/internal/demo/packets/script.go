// Package packets is the demo's first act: it limits real packets between two throwaway network namespaces,
// shows what becomes of them, and checks each number against theory.
//
// Theory is computed from what was really sent and when, so a machine that stalls gets wider bounds, or
// sends less, but no wrong result. Three parties have to agree on each number: theory, a raw socket
// behind the limiter, and headgate's own counters.
package packets

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/userspace/rate"
)

// Interface is what the act attaches to. It exists in a network namespace of the demo only.
const Interface = "demo1"

// source is one of the cast: whose packets it sends, and how many.
type source struct {
	prefix    netip.Prefix // what headgate counts as one source
	addresses int          // that it sends from, in turn
	role      string

	// perTick packets are sent at each tick, or, where every is not 0, one packet each such time.
	perTick int
	every   time.Duration
}

// name is what a table calls the source: an address, or a prefix where it is one.
func (s source) name() string {
	if s.prefix.IsSingleIP() {
		return s.prefix.Addr().String()
	}
	return s.prefix.String()
}

// flooder is the place in the cast of the source whose limit changes.
const flooder = 0

// tick is how often all sources send: 30,000 packets a second are 300 at each.
const tick = 10 * time.Millisecond

func cast() []source {
	single := func(addr string) netip.Prefix {
		a := netip.MustParseAddr(addr)
		return netip.PrefixFrom(a, a.BitLen())
	}
	return []source{
		flooder: {prefix: single("203.0.113.66"), addresses: 1, role: "floods", perTick: 300},
		{prefix: netip.MustParsePrefix("2001:db8:0:66::/64"), addresses: 100, role: "floods, from 100 addresses", perTick: 200},
		{prefix: single("203.0.113.7"), addresses: 1, role: "sends at its limit", every: time.Millisecond},
		{prefix: single("203.0.113.8"), addresses: 1, role: "is modest", every: 5 * time.Millisecond},
	}
}

// limitText is a limit as it is written on the command line.
type limitText struct{ rate, burst string }

func (l limitText) String() string { return "--rate " + l.rate + " --burst " + l.burst }

func (l limitText) parse() (wire.Limit, error) {
	r, err := rate.ParsePackets(l.rate)
	if err != nil {
		return wire.Limit{}, err
	}
	burst, err := rate.ParseCount(l.burst)
	return wire.Limit{Packets: wire.Quota{Rate: r, Burst: burst}}, err
}

// perSecond writes the rate of the limit in prose.
func (l limitText) perSecond() string {
	r, err := rate.ParsePackets(l.rate)
	if err != nil {
		return l.rate
	}
	return fmt.Sprintf("%d/s", r.Count*uint64(time.Second)/uint64(r.Per))
}

// The limits of the script.
func standard() limitText { return limitText{"1000pps", "100"} }
func strict() limitText   { return limitText{"100pps", "10"} }

// action is what is done at the start of a phase.
type action uint8

const (
	nothing action = iota
	attach
	lower
	lift
	block
)

// phase is a part of the script.
type phase struct {
	title   string
	short   string // in the summary
	action  action
	command string // that does the same; "" for none
	lasts   time.Duration
	limited bool
	flooder limitText // the limit of the flooder, of a source in general otherwise
}

// script returns the phases, for seconds of a given length.
func script(second time.Duration) []phase {
	name := cast()[flooder].name()
	blocked := 2 * second
	return []phase{
		{
			title: "Nothing limits anything: all arrives.",
			short: "no limit", lasts: second,
		},
		{
			title: "Every source gets 1000 packets a second, and 100 at once. 100 addresses of one /64 are one source.",
			short: "limited", action: attach, lasts: 3 * second,
			command: fmt.Sprintf("headgate attach %s %s", Interface, standard()),
			limited: true, flooder: standard(),
		},
		{
			title: "One source gets less, while it floods.",
			short: "lowered", action: lower, lasts: 5 * second / 2,
			command: fmt.Sprintf("headgate set %s %s", name, strict()),
			limited: true, flooder: strict(),
		},
		{
			title: "It gets as much as the others again.",
			short: "lifted", action: lift, lasts: 2 * second,
			command: "headgate unset " + name,
			limited: true, flooder: standard(),
		},
		{
			title: "It gets nothing for a while.",
			short: "blocked", action: block, lasts: blocked,
			command: fmt.Sprintf("headgate block %s --for %s", name, blocked),
			limited: true, flooder: standard(),
		},
		{
			title: "The block has ended by itself, in the kernel.",
			short: "block over", lasts: 3 * second / 2,
			limited: true, flooder: standard(),
		},
	}
}
