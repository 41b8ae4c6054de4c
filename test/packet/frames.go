package packet

import "net/netip"

// clientPort is the source port of the ready-made frames.
const clientPort = 40000

// UDPFrame returns an untagged UDP frame between two addresses of one IP
// version, with a payload of payloadLen zero bytes. It panics when src or dst
// is not an address.
func UDPFrame(src, dst string, port uint16, payloadLen int) []byte {
	return Build(Ethernet{}, ip(src, dst), UDP{Src: clientPort, Dst: port}, Zeros(payloadLen))
}

// TCPFrame returns an untagged TCP frame without data between two addresses of
// one IP version. It panics when src or dst is not an address.
func TCPFrame(src, dst string, port uint16, flags TCPFlags) []byte {
	return Build(Ethernet{}, ip(src, dst), TCP{Src: clientPort, Dst: port, Flags: flags})
}

func ip(src, dst string) Layer {
	from, to := netip.MustParseAddr(src), netip.MustParseAddr(dst)
	if from.Is4() {
		return IPv4{Src: from, Dst: to}
	}
	return IPv6{Src: from, Dst: to}
}
