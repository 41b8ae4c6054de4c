package bpf_test

import (
	"slices"
	"testing"
	"time"

	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/test/packet"
	"github.com/headgate/headgate/test/progtest"
)

// At the moment when a configuration ends, the fallback is in force.
func TestFallbackTakesOver(t *testing.T) {
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("1pps", 2))
	if err := lab.Policies.StoreFallback(lab.Config()); err != nil {
		t.Fatal(err)
	}
	end := progtest.Start + uint64(time.Minute)
	lab.Configure(func(c *policymap.Config) { c.ValidUntil = end })
	lab.SetDefault(progtest.Packets("1pps", 5))
	wantRuns(t, lab, underLimit, udp(alice), udp(alice), udp(alice), udp(alice), udp(alice))
	wantRuns(t, lab, overPackets, udp(alice))

	lab.SetClock(end - 1)
	wantBurst(t, lab, udp(bob), 5, overPackets)
	lab.SetClock(end)
	wantRuns(t, lab, overPackets, udp(bob)) // owes the whole burst of the fallback
	wantBurst(t, lab, udp("192.0.2.1"), 2, overPackets)
	wantBurst(t, lab, udp(alice), 2, overPackets)
}

// Without a fallback everything passes, even what is malformed, and nothing is counted.
func TestNoConfigurationLetsEverythingPass(t *testing.T) {
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("1pps", 1))
	lab.SetRules(progtest.Block("192.0.2.0/24"))
	lab.Configure(func(c *policymap.Config) { c.ValidUntil = progtest.Start + 1 })
	wantRuns(t, lab, underLimit, udp(alice))
	wantRuns(t, lab, overPackets, udp(alice))

	lab.Advance(1)
	before := lab.Counts()
	for _, frame := range [][]byte{udp(alice), udp("192.0.2.1"), udp(alice)[:20]} {
		if got := lab.Action(frame); got != progtest.Pass {
			t.Errorf("action %d, want to pass", got)
		}
	}
	wantCounts(t, lab.Counts().Since(before), progtest.Counts{})

	lab.Configure(func(c *policymap.Config) { c.ValidUntil = policymap.Forever })
	wantRuns(t, lab, overPackets, udp(alice))
}

// A fallback that was dropped is no more in force than none.
func TestDroppedFallback(t *testing.T) {
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("1pps", 1))
	for range 2 { // to drop none is no error
		if err := lab.Policies.DropFallback(); err != nil {
			t.Fatal(err)
		}
	}
	if err := lab.Policies.StoreFallback(lab.Config()); err != nil {
		t.Fatal(err)
	}
	lab.Configure(func(c *policymap.Config) { c.ValidUntil = progtest.Start })
	wantRuns(t, lab, underLimit, udp(alice))
	if err := lab.Policies.DropFallback(); err != nil {
		t.Fatal(err)
	}
	if got := lab.Action(udp(alice)); got != progtest.Pass {
		t.Errorf("action %d, want to pass", got)
	}
	if _, ok, err := lab.Policies.Fallback(); ok || err != nil {
		t.Errorf("fallback %v, %v; want none", ok, err)
	}
}

// Where only the trial is attached, everything passes when it ends, whatever the fallback says.
func TestTrialInterfaceIsLetGo(t *testing.T) {
	const loopback = 1 // the interface of a program run
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("1pps", 1))
	if err := lab.Policies.StoreFallback(lab.Config()); err != nil {
		t.Fatal(err)
	}
	lab.Configure(func(c *policymap.Config) {
		c.ValidUntil = progtest.Start + 1
		c.TrialInterfaces = []int{7, loopback}
	})
	wantRuns(t, lab, underLimit, udp(alice))
	wantRuns(t, lab, overPackets, udp(alice))
	lab.Advance(1)
	if got := lab.Action(udp(alice)); got != progtest.Pass {
		t.Errorf("action %d after the trial, want to pass", got)
	}
	lab.Configure(func(c *policymap.Config) { c.TrialInterfaces = []int{7} })
	wantRuns(t, lab, overPackets, udp(alice))
}

// The slot of a policy that is gone is given away again, but what it counted is not.
func TestNewPolicyCountsFromZero(t *testing.T) {
	lab := newLab(t)
	lab.SetDefault(progtest.Packets("1pps", 1))
	wantRuns(t, lab, underLimit, udp(alice))
	wantRuns(t, lab, overPackets, udp(alice), udp(alice))
	old := lab.PolicyID("default")
	lab.DeletePolicy("default")
	wantRuns(t, lab, noPolicy, udp(alice))

	lab.SetDefault(progtest.Packets("1pps", 1))
	wantSlots(t, lab, map[string]statmap.Slot{"default": {}})
	// Nor is a bucket's debt: the new policy has another id.
	wantRuns(t, lab, underLimit, udp(alice))
	wantRuns(t, lab, overPackets, udp(alice))
	wantSlots(t, lab, map[string]statmap.Slot{"default": {Pass: packetCount(1), Drop: packetCount(1)}})
	if lab.PolicyID("default") == old {
		t.Errorf("policy id %d was used again", old)
	}
}

// Which packets a policy is about.
func TestPolicyMatch(t *testing.T) {
	limit := progtest.Packets("1kpps", 1000)
	port := func(first, last uint16) policymap.Policy {
		return policymap.Policy{Ports: policymap.Ports{First: first, Last: last}}
	}
	icmp := policymap.Policy{HasProto: true, Proto: 1}
	hopByHop := policymap.Policy{HasProto: true, Proto: 0}
	syn := policymap.Policy{SYN: true}
	frames := matchFrames()
	tests := []struct {
		name    string
		policy  policymap.Policy
		matches []string
	}{
		{"everything", policymap.Policy{}, []string{"udp 53", "tcp syn 80", "tcp syn+ack 80", "tcp ack 443", "icmp", "sctp 53"}},
		{"udp port", udpPort("", 53), []string{"udp 53"}},
		{"any protocol's port", port(53, 53), []string{"udp 53", "sctp 53"}},
		{"port range", port(53, 80), []string{"udp 53", "sctp 53", "tcp syn 80", "tcp syn+ack 80"}},
		{"up to below a port", port(1, 52), nil},
		{"from above a port", port(444, 65535), nil},
		{"source port is none", port(40000, 40000), nil},
		{"syn", syn, []string{"tcp syn 80"}},
		{"protocol without ports", icmp, []string{"icmp"}},
		{"protocol 0", hopByHop, nil},
	}
	lab := newLab(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lab := lab.For(t)
			lab.DeleteAll()
			tt.policy.Name, tt.policy.Limit = policymap.Default, limit
			lab.SetPolicy(tt.policy)
			for name, frame := range frames {
				want := noPolicy
				if slices.Contains(tt.matches, name) {
					want = underLimit
				}
				if got := lab.Run(frame); got.Outcome != want {
					t.Errorf("%s: %v, want %v", name, got.Outcome, want)
				}
			}
		})
	}
}

func matchFrames() map[string][]byte {
	const syn, ack = packet.SYN, packet.ACK
	sctp := []byte{0x9c, 0x40, 0, 53, 0, 0, 0, 0, 0, 0, 0, 0}
	return map[string][]byte{
		"udp 53":         packet.UDPFrame(alice, dst4, 53, 0),
		"tcp syn 80":     packet.TCPFrame(alice, dst4, 80, syn),
		"tcp syn+ack 80": packet.TCPFrame(alice, dst4, 80, syn|ack),
		"tcp ack 443":    packet.TCPFrame(alice, dst4, 443, ack),
		"icmp":           packet.Build(packet.Ethernet{}, packet.IPv4{}, packet.ICMP{Type: 8}),
		"sctp 53":        packet.Build(packet.Ethernet{}, packet.IPv4{Proto: new(uint8(132))}, packet.Payload(sctp)),
	}
}
