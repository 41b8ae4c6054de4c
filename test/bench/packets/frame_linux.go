package main

import (
	"net/netip"

	"github.com/headgate/headgate/test/packet"
)

// Many sources are those from firstSource on, in host byte order: 10.0.0.0.
const (
	firstSource uint32 = 10 << 24

	some uint64 = 256
	many uint64 = 1_000_000 // all have a bucket in a map of manyBuckets
	all  uint64 = 1 << 32   // hardly any has one
)

const (
	frameLength = 64
	framePort   = 53 // the destination's
)

func source4() netip.Addr { return netip.AddrFrom4([4]byte{203, 0, 113, 7}) }

func source6() netip.Addr { return netip.MustParseAddr("2001:db8:71::7") }

// spreadRange holds the first million addresses from firstSource on, and few more.
func spreadRange() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(firstSource >> 24)}), 12)
}

func frame4() []byte {
	return packet.PadTo(packet.UDPFrame(source4().String(), "198.51.100.1", framePort, 18), frameLength)
}

func frame6() []byte {
	return packet.PadTo(packet.UDPFrame(source6().String(), "2001:db8::1", framePort, 2), frameLength)
}
