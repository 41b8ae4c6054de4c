package handdown

import (
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/headgate/headgate/userspace/ruleset"
)

// What a gateway tells without saying how it knows leads to no rule, even where the gateway is on this machine.
func TestHearsay(t *testing.T) {
	client := netip.MustParseAddr("203.0.113.7")
	for _, hearsay := range []bool{true, false} {
		run(t, Options{}, func(l *lab) {
			for range 3 {
				l.Observe(&ruleset.Request{Peer: client, Conn: netip.MustParseAddr("127.0.0.1"), Hearsay: hearsay},
					&ruleset.Decision{Client: client, ClientFrom: "peer", Rule: "login", Zone: "perip", Status: 429})
				synctest.Wait()
			}
			if hearsay {
				l.wantBlocked()
				l.wantSpared(map[Reason]uint64{Unknown: 3})
			} else {
				l.wantBlocked("203.0.113.7/32")
			}
		})
	}
}
