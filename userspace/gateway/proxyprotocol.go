package gateway

import (
	"net"
	"net/netip"
	"time"

	"github.com/pires/go-proxyproto"
)

// expectHeader returns l, whose connections from peers begin with a header of the PROXY protocol, version 1 or 2. From others
// it is no header, but the beginning of a request that is none.
func expectHeader(l net.Listener, peers []netip.Prefix, timeout time.Duration) net.Listener {
	return &proxyproto.Listener{
		Listener:          l,
		ReadHeaderTimeout: timeout,
		ConnPolicy: func(o proxyproto.ConnPolicyOptions) (proxyproto.Policy, error) {
			if contains(peers, addrOf(o.Upstream)) {
				return proxyproto.REQUIRE, nil
			}
			return proxyproto.SKIP, nil
		},
	}
}
