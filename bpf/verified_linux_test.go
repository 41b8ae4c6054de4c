package bpf_test

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/statmap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/progtest"
)

const tick = time.Duration(1) << bpf.VerifiedTickShift

// strangersLab returns a lab in which all unverified sources together may send burst packets, and
// each source 1,000.
func strangersLab(tb testing.TB, burst uint64) *progtest.Lab {
	tb.Helper()
	lab := newLab(tb)
	lab.SetDefault(progtest.Packets("1pps", 1000))
	lab.SetPolicy(policymap.Policy{
		Name: "strangers", Key: policymap.Shared, Unverified: true, Limit: progtest.Packets("1pph", burst),
	})
	return lab
}

// verify makes sources verified until a time of the lab's clock.
func verify(tb testing.TB, lab *progtest.Lab, until uint64, sources ...string) {
	tb.Helper()
	config := lab.Config()
	var cut []netip.Addr
	for _, source := range sources {
		cut = append(cut, config.Cut(addr(source)))
	}
	if err := lab.Verified.Add(cut, until); err != nil {
		tb.Fatal(err)
	}
}

// forgetVerified empties the table.
func forgetVerified(tb progtest.TB, lab *progtest.Lab) {
	tb.Helper()
	config := lab.Config()
	var all []netip.Addr
	for _, bits := range [][2]int{{32, 64}, {24, 56}, {0, 48}, {32, 128}} {
		config.IPv4Prefix, config.IPv6Prefix = bits[0], bits[1]
		for _, sender := range senders() {
			all = append(all, config.Cut(addr(sender)))
		}
	}
	if err := lab.Verified.Remove(all); err != nil {
		tb.Fatal(err)
	}
}

// forged returns the n-th frame of a flood, each of which is from another source.
func forged(n int) []byte {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(100<<24+n))
	return udp(netip.AddrFrom4(b).String())
}

// A flood of strangers has what is for all of them together, and takes nothing from who is verified.
func TestFloodCrowdsOutNobodyVerified(t *testing.T) {
	lab := strangersLab(t, 5)
	verify(t, lab, policymap.Forever, alice, "2001:db8::1")
	for n := range 5 {
		wantRuns(t, lab, underLimit, forged(n))
	}
	for n := range 300 {
		wantRuns(t, lab, overPackets, forged(5+n))
		// Another address of the same /64 is the same source.
		wantRuns(t, lab, underLimit, udp(alice), udp("2001:db8::2"))
	}
	wantRuns(t, lab, overPackets, udp(bob), udp("2001:db8:0:1::1"))
	// It takes no room either: of what was dropped there is no bucket.
	wantSources(t, lab, alice, "2001:db8::", "100.0.0.0", "100.0.0.1", "100.0.0.2", "100.0.0.3", "100.0.0.4")
	wantSlots(t, lab, map[string]statmap.Slot{
		"default":   {Pass: packetCount(605)},
		"strangers": {Pass: packetCount(5), Drop: packetCount(302)},
	})
}

// Who is verified is under all other policies as before.
func TestVerifiedIsNotAllowed(t *testing.T) {
	lab := strangersLab(t, 5)
	lab.SetDefault(progtest.Packets("1pps", 3))
	verify(t, lab, policymap.Forever, alice)
	wantBurst(t, lab, udp(alice), 3, overPackets)
}

// A source is verified up to the tick in which the time ends, and not a moment longer, at any time of the clock.
func TestVerifiedEnds(t *testing.T) {
	for _, start := range []time.Duration{0, tick, 18 * time.Minute, 1<<24*tick - tick, 146 * 365 * 24 * time.Hour} {
		lab := strangersLab(t, 1)
		now := start.Truncate(tick)
		lab.SetClock(uint64(now))
		wantRuns(t, lab, underLimit, udp(bob))
		for _, tt := range []struct {
			source     string
			until, end time.Duration
		}{
			{"192.0.2.1", 1, tick}, {"192.0.2.2", tick, tick}, {"192.0.2.3", tick + 1, 2 * tick}, {"192.0.2.4", 60 * tick, 60 * tick},
		} {
			lab.SetClock(uint64(now))
			verify(t, lab, uint64(now+tt.until), tt.source)
			lab.SetClock(uint64(now + tt.end - 1))
			wantRuns(t, lab, underLimit, udp(tt.source))
			lab.SetClock(uint64(now + tt.end))
			wantRuns(t, lab, overPackets, udp(tt.source))
		}
	}
}

// What was proved first does not end before its time because of what is proved later.
func TestVerifiedIsNotShortened(t *testing.T) {
	lab := strangersLab(t, 1)
	wantRuns(t, lab, underLimit, udp(bob))
	verify(t, lab, lab.Clock()+uint64(time.Minute), alice)
	verify(t, lab, lab.Clock()+1, alice)
	lab.Advance(time.Minute - 1)
	wantRuns(t, lab, underLimit, udp(alice))
	wantRuns(t, lab, overPackets, udp(bob))
}

// Link-local sources are told apart by what the bucket's key has of them, too.
func TestVerifiedLinkLocal(t *testing.T) {
	lab := strangersLab(t, 1)
	verify(t, lab, policymap.Forever, "fe80::1")
	wantRuns(t, lab, underLimit, udp("fe80::1"), udp("fe80::1"), udp("fe80::2"))
	wantRuns(t, lab, overPackets, udp("fe80::2"))
}

// A limit that people set vouches for its sources; one that hand-down made for an offender undoes what he proved.
func TestLimitRulesAndProof(t *testing.T) {
	for origin, want := range map[rulemap.Origin]progtest.Outcome{
		rulemap.CLI: underLimit, rulemap.Config: underLimit, rulemap.HandDown: overPackets, rulemap.Fleet: overPackets, rulemap.FleetHandDown: overPackets,
	} {
		lab := strangersLab(t, 1)
		wantRuns(t, lab, underLimit, udp(bob))
		if origin != rulemap.CLI && origin != rulemap.Config {
			verify(t, lab, policymap.Forever, alice)
		}
		rule := progtest.Limit(alice+"/32", lab.PolicyID("default"), progtest.Packets("1pps", 50))
		rule.Origin = origin
		lab.SetRules(rule)
		t.Run(fmt.Sprintf("%s %d", origin, origin), func(t *testing.T) { wantRuns(t, lab, want, udp(alice), udp(alice)) })
	}
}

// The policy is one of several conditions: what it does not match otherwise it does not charge.
func TestUnverifiedIsOneCondition(t *testing.T) {
	lab := newLab(t)
	p := udpPort("dns", 53)
	p.Unverified, p.Limit = true, progtest.Packets("1pps", 1)
	lab.SetPolicy(p)
	wantRuns(t, lab, underLimit, udp(alice)) // from then on alice has a bucket of her own that is empty
	wantRuns(t, lab, overPackets, udp(alice))
	wantRuns(t, lab, underLimit, udp(bob))
	verify(t, lab, policymap.Forever, alice)
	wantRuns(t, lab, noPolicy, udp(alice))
}

// Only the one policy that every packet matches is found without a look at it.
func TestOnlyPolicyIsUnverified(t *testing.T) {
	lab := newLab(t)
	lab.SetPolicy(policymap.Policy{Name: "strangers", Unverified: true, Limit: progtest.Packets("1pps", 1)})
	verify(t, lab, policymap.Forever, alice)
	wantRuns(t, lab, noPolicy, udp(alice), udp(alice))
	wantBurst(t, lab, udp(bob), 1, overPackets)
}

// In dry run too, the policy only sees strangers.
func TestUnverifiedInDryRun(t *testing.T) {
	lab := newLab(t)
	lab.SetPolicy(policymap.Policy{Name: "strangers", Unverified: true, DryRun: true, Limit: progtest.Packets("1pps", 1)})
	verify(t, lab, policymap.Forever, alice)
	wantRuns(t, lab, underLimit, udp(bob))
	wantRuns(t, lab, wouldOverPackets, udp(bob))
	wantRuns(t, lab, noPolicy, udp(alice), udp(alice))
}

// sameLine returns n sources whose entries are in one line.
func sameLine(tb testing.TB, lab *progtest.Lab, n int) []netip.Addr {
	tb.Helper()
	var g bpf.Global
	if err := lab.Map(bpf.MapGlobals).Lookup(uint32(0), &g); err != nil {
		tb.Fatal(err)
	}
	var all []netip.Addr
	for i := uint32(0); len(all) < n; i++ {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], 10<<24+i)
		source := netip.AddrFrom4(b)
		key := wire.Source(source)
		if wire.Hash(&g.Salt, key.Policy, key.Addr)>>(64-bpf.VerifiedLineBits) == 7 {
			all = append(all, source)
		}
	}
	return all
}

// A line has room for eight. The one whose time ends first makes room, and those that have ended do before.
func TestFullLine(t *testing.T) {
	lab := newLab(t)
	lab.SetPolicy(policymap.Policy{Name: "strangers", Unverified: true, Limit: progtest.Packets("1pps", 1000)})
	sources := sameLine(t, lab, 10)
	minutes := []int{30, 20, 10, 40, 50, 60, 70, 80, 90, 5}
	for i, source := range sources[:9] {
		verify(t, lab, lab.Clock()+uint64(time.Duration(minutes[i])*time.Minute), source.String())
	}
	verifiedAre := func(want ...int) {
		t.Helper()
		for i, source := range sources {
			outcome := underLimit
			for _, w := range want {
				if i == w {
					outcome = noPolicy
				}
			}
			if got := lab.Run(udp(source.String())).Outcome; got != outcome {
				t.Errorf("source %d: %v, want %v", i, got, outcome)
			}
		}
		if n, err := lab.Verified.Count(lab.Clock()); err != nil || n != len(want) {
			t.Errorf("%d are verified, %v; want %d", n, err, len(want))
		}
	}
	verifiedAre(0, 1, 3, 4, 5, 6, 7, 8) // 2 had to go
	verify(t, lab, lab.Clock()+uint64(5*time.Minute), sources[9].String())
	verifiedAre(0, 1, 3, 4, 5, 6, 7, 8) // 9 would have been the next to go
	lab.Advance(21 * time.Minute)
	verifiedAre(0, 3, 4, 5, 6, 7, 8)
	verify(t, lab, lab.Clock()+uint64(5*time.Minute), sources[9].String())
	verifiedAre(0, 3, 4, 5, 6, 7, 8, 9)
	if err := lab.Verified.Remove(sources[3:5]); err != nil {
		t.Fatal(err)
	}
	verifiedAre(0, 5, 6, 7, 8, 9)
}

// A stranger is taken for a source where he has its line and its tag, which is half of a hash with
// a secret salt. Nothing less is enough.
func TestStrangerWithATag(t *testing.T) {
	lab := newLab(t)
	lab.SetPolicy(policymap.Policy{Name: "strangers", Unverified: true, Limit: progtest.Packets("1pps", 1000)})
	line, tag := hashOf(t, lab, alice)
	for _, tt := range []struct {
		line uint32
		tag  uint32
		want progtest.Outcome
	}{
		{line, tag, noPolicy}, {line ^ 1, tag, underLimit}, {line, tag ^ 1, underLimit}, {line, tag ^ 1<<31, underLimit},
	} {
		for slot := range bpf.VerifiedPerLine {
			var entries bpf.VerifiedLine
			entries.Entry[slot] = 1<<63 | uint64(tt.tag)
			if err := lab.Map(bpf.MapVerified).Put(tt.line, &entries); err != nil {
				t.Fatal(err)
			}
			wantRuns(t, lab, tt.want, udp(alice))
			if err := lab.Map(bpf.MapVerified).Put(tt.line, &bpf.VerifiedLine{}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func hashOf(tb testing.TB, lab *progtest.Lab, source string) (line, tag uint32) {
	tb.Helper()
	var g bpf.Global
	if err := lab.Map(bpf.MapGlobals).Lookup(uint32(0), &g); err != nil {
		tb.Fatal(err)
	}
	key := wire.Source(addr(source))
	hash := wire.Hash(&g.Salt, key.Policy, key.Addr)
	return uint32(hash >> (64 - bpf.VerifiedLineBits)), uint32(hash)
}
