package bpf_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/bucketmap"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/packet"
	"github.com/headgate/headgate/test/progtest"
)

// Outcomes, as they are called in the tests.
var (
	underLimit  = progtest.Outcome{Verdict: bpf.VerdictPass, Reason: bpf.ReasonUnderLimit}
	overPackets = progtest.Outcome{Verdict: bpf.VerdictDrop, Reason: bpf.ReasonOverPacketLimit}
	overBytes   = progtest.Outcome{Verdict: bpf.VerdictDrop, Reason: bpf.ReasonOverByteLimit}
	allowed     = progtest.Outcome{Verdict: bpf.VerdictPass, Reason: bpf.ReasonAllowed}
	blocked     = progtest.Outcome{Verdict: bpf.VerdictDrop, Reason: bpf.ReasonBlocked}
	malformed   = progtest.Outcome{Verdict: bpf.VerdictDrop, Reason: bpf.ReasonMalformed}
	notIP       = progtest.Outcome{Verdict: bpf.VerdictPass, Reason: bpf.ReasonNotIP}
	discovery   = progtest.Outcome{Verdict: bpf.VerdictPass, Reason: bpf.ReasonNeighbourDiscovery}
	noPolicy    = progtest.Outcome{Verdict: bpf.VerdictPass, Reason: bpf.ReasonNoPolicy}

	wouldOverPackets = progtest.Outcome{Verdict: bpf.VerdictWouldDrop, Reason: bpf.ReasonOverPacketLimit}
	untrackedPass    = progtest.Outcome{Verdict: bpf.VerdictPass, Reason: bpf.ReasonUntracked}
	untrackedDrop    = progtest.Outcome{Verdict: bpf.VerdictDrop, Reason: bpf.ReasonUntracked}
)

const (
	alice = "203.0.113.1"
	bob   = "203.0.113.2"
	dst4  = "198.51.100.1"
	dst6  = "2001:db8:ffff::1"
)

// newLab returns a lab for a test that needs no other than the usual one.
func newLab(tb testing.TB) *progtest.Lab {
	tb.Helper()
	need.Root(tb)
	return progtest.New(tb, progtest.Options{})
}

// udp returns a frame from src whose IP packet is 100 bytes long.
func udp(src string) []byte {
	addr := netip.MustParseAddr(src)
	if addr.Is4() {
		return packet.UDPFrame(src, dst4, 53, 100-28)
	}
	return packet.UDPFrame(src, dst6, 53, 100-48)
}

// wantRuns runs frames one after the other and compares what became of each.
func wantRuns(tb testing.TB, lab *progtest.Lab, want progtest.Outcome, frames ...[]byte) {
	tb.Helper()
	lab = lab.For(tb)
	for i, frame := range frames {
		if got := lab.Run(frame); got.Outcome != want {
			tb.Errorf("frame %d of %d: %v, want %v", i+1, len(frames), got.Outcome, want)
		}
	}
}

// wantBurst runs a frame until it is refused: after exactly burst times.
func wantBurst(tb testing.TB, lab *progtest.Lab, frame []byte, burst int, refused progtest.Outcome) {
	tb.Helper()
	lab = lab.For(tb)
	length := lab.Run(frame).Length
	got := lab.RunN(frame, burst+2)
	// The one frame before them passed.
	want := counts(length, map[progtest.Outcome]int{underLimit: burst - 1, refused: 3})
	wantCounts(tb, got, want)
}

// counts returns the counts of packets of one length.
func counts(length uint64, packets map[progtest.Outcome]int) progtest.Counts {
	counts := make(progtest.Counts)
	for outcome, n := range packets {
		if n > 0 {
			counts[outcome] = statmap.Counter{Packets: uint64(n), Bytes: uint64(n) * length}
		}
	}
	return counts
}

func wantCounts(tb testing.TB, got, want progtest.Counts) {
	tb.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("counts (-want +got):\n%s", diff)
	}
}

// sources returns what List says, by address and policy.
func sources(tb testing.TB, lab *progtest.Lab) map[progtest.SourceKey]statmap.Slot {
	tb.Helper()
	list, err := lab.Buckets.List()
	if err != nil {
		tb.Fatal(err)
	}
	all := make(map[progtest.SourceKey]statmap.Slot)
	for _, s := range list {
		key := progtest.SourceKey{Addr: s.Addr, PolicyID: s.PolicyID}
		if _, twice := all[key]; twice {
			tb.Errorf("source %v is listed twice", key)
		}
		all[key] = slot(s)
	}
	return all
}

func slot(s bucketmap.Source) statmap.Slot {
	return statmap.Slot{Pass: s.Pass, Drop: s.Drop, WouldDrop: s.WouldDrop}
}

// wantSources compares the addresses that have a bucket.
func wantSources(tb testing.TB, lab *progtest.Lab, want ...string) {
	tb.Helper()
	got, wanted := make(map[string]bool), make(map[string]bool)
	for key := range sources(tb, lab) {
		got[key.Addr.String()] = true
	}
	for _, addr := range want {
		wanted[addr] = true
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		tb.Errorf("sources (-want +got):\n%s", diff)
	}
}

func tcpPort(name string, port uint16) policymap.Policy {
	return policymap.Policy{Name: name, HasProto: true, Proto: 6, Ports: policymap.Ports{First: port, Last: port}}
}

func udpPort(name string, port uint16) policymap.Policy {
	p := tcpPort(name, port)
	p.Proto = 17
	return p
}

// packetCount is a counter of packets of 100 bytes, which is what udp makes.
func packetCount(n uint64) statmap.Counter { return statmap.Counter{Packets: n, Bytes: 100 * n} }
func addr(s string) netip.Addr             { return netip.MustParseAddr(s) }

func sameAddr(a, b netip.Addr) bool { return a == b }
