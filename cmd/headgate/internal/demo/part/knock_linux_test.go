package part

import (
	"net"
	"net/netip"
	"testing"
)

// Whoever listens or not: a knock that arrives is seen to.
func TestKnockIsAnswered(t *testing.T) {
	on, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := on.Addr().(*net.TCPAddr).AddrPort()
	for _, who := range []string{"somebody listens", "nobody listens"} {
		entered, err := knock(netip.MustParseAddr("127.0.0.1"), at)
		if err != nil || !entered {
			t.Errorf("%s: entered %t, error %v", who, entered, err)
		}
		on.Close()
	}
}
