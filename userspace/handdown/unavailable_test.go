package handdown

import (
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/headgate/headgate/userspace/ruleset"
)

// Who is refused because limits cannot be looked up has done nothing.
func TestUnavailableIsNoOffence(t *testing.T) {
	client := netip.MustParseAddr("203.0.113.7")
	for _, unavailable := range []bool{true, false} {
		run(t, Options{}, func(l *lab) {
			for range 3 {
				l.Observe(&ruleset.Request{Peer: client},
					&ruleset.Decision{Client: client, ClientFrom: "peer", Rule: "login", Zone: "perip", Status: 503, Unavailable: unavailable})
				synctest.Wait()
			}
			if unavailable {
				l.wantBlocked()
				l.wantSpared(map[Reason]uint64{})
				if n := l.Counters().Offences[HTTP]; n != 0 {
					t.Errorf("%d offences, want none", n)
				}
			} else {
				l.wantBlocked("203.0.113.7/32")
			}
		})
	}
}
