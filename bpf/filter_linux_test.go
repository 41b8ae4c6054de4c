package bpf_test

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/progtest"
)

// ruleList is the rules as a list that is searched from one end to the other.
type ruleList map[netip.Prefix]map[rulemap.Action]uint64

func (l ruleList) set(rules []rulemap.Rule) {
	for _, r := range rules {
		if l[r.Prefix] == nil {
			l[r.Prefix] = map[rulemap.Action]uint64{}
		}
		l[r.Prefix][r.Action] = r.Until
	}
}

// outcome returns what becomes of a source without policies: a limit is for one that is not there.
func (l ruleList) outcome(source netip.Addr, now uint64) progtest.Outcome {
	for bits := source.BitLen(); bits >= 0; bits-- {
		said := l[netip.PrefixFrom(source, bits).Masked()]
		switch {
		case said[rulemap.Allow] > now:
			return allowed
		case said[rulemap.Block] > now:
			return blocked
		case said[rulemap.Limit] > now:
			return noPolicy
		}
	}
	return noPolicy
}

// A filter that is far too small is wrong about every other prefix, and still the program decides by the
// rules as a search of the whole list would, whatever is set, removed, swept and made anew.
func TestFilteredRulesEqualAList(t *testing.T) {
	need.Root(t)
	lab := progtest.New(t, progtest.Options{Rules: 256})
	generations, before := 0, uint32(0)
	rapid.Check(t, func(t *rapid.T) {
		lab := lab.For(t)
		lab.DeleteAll()
		list := ruleList{}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			changeFiltered(t, lab, list)
			for range 6 {
				source := drawSource(t)
				if got, want := lab.Run(udp(source.String())).Outcome, list.outcome(source, lab.Clock()); got != want {
					t.Fatalf("%s: %v, want %v", source, got, want)
				}
			}
			if now := ladder(t, lab, bpf.Ladder4).Generation; now != before {
				generations, before = generations+1, now
			}
		}
	})
	if generations < 5 {
		t.Errorf("the filter was made anew %d times: this run proves little", generations)
	}
}

func ladder(tb progtest.TB, lab *progtest.Lab, n uint32) (l bpf.RuleLadder) {
	tb.Helper()
	if err := lab.Map(bpf.MapRuleLadders).Lookup(n, &l); err != nil {
		tb.Fatal(err)
	}
	return l
}

func changeFiltered(t *rapid.T, lab *progtest.Lab, list ruleList) {
	switch rapid.IntRange(0, 5).Draw(t, "change") {
	case 0:
		lab.Advance(time.Duration(rapid.IntRange(0, 20).Draw(t, "ns")))
	case 1:
		if err := lab.Rules.Sweep(); err != nil {
			t.Fatal(err)
		}
	case 2:
		var gone []netip.Prefix
		for p := range list {
			if len(gone) < 40 {
				gone = append(gone, p)
			}
		}
		slices.SortFunc(gone, func(a, b netip.Prefix) int {
			return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
		})
		for _, p := range gone {
			delete(list, p)
		}
		if _, err := lab.Rules.Unset(gone); err != nil {
			t.Fatal(err)
		}
	default:
		rules := drawRules(t, lab.Clock())
		lab.SetRules(rules...)
		list.set(rules)
	}
}

func drawRules(t *rapid.T, now uint64) (rules []rulemap.Rule) {
	for range rapid.IntRange(1, 40).Draw(t, "rules") {
		source := drawSource(t)
		bits := rapid.SampledFrom([]int{source.BitLen(), rapid.IntRange(0, source.BitLen()).Draw(t, "bits")}).Draw(t, "length")
		r := progtest.Limit(netip.PrefixFrom(source, bits).Masked().String(), 1, progtest.Packets("1pps", 1))
		if r.Action = rapid.SampledFrom([]rulemap.Action{rulemap.Block, rulemap.Block, rulemap.Allow, rulemap.Limit}).Draw(t, "action"); r.Action != rulemap.Limit {
			r.Limit, r.PolicyID = wire.Limit{}, 0
		}
		if rapid.Bool().Draw(t, "ends") {
			r.Until = now + rapid.Uint64Range(1, 30).Draw(t, "after")
		}
		rules = append(rules, r)
	}
	return rules
}

// drawSource returns one of few addresses, so that many are under the same prefixes.
func drawSource(t *rapid.T) netip.Addr {
	low := rapid.Uint16().Draw(t, "low")
	if rapid.Bool().Draw(t, "ipv6") {
		b := netip.MustParseAddr("2001:db8::").As16()
		binary.BigEndian.PutUint16(b[6:], low&0x0303)
		binary.BigEndian.PutUint16(b[14:], low>>8&0x0303)
		return netip.AddrFrom16(b)
	}
	return netip.AddrFrom4([4]byte{10, byte(low>>12) & 3, byte(low >> 8 & 3), byte(low & 7)})
}

// aimed returns n addresses whose blocks are all in one line of the table, and some whose tags no slot may
// have.
func aimed(t *testing.T, lab *progtest.Lab, n int) (crowd, odd []netip.Addr) {
	t.Helper()
	var g bpf.Global
	if err := lab.Map(bpf.MapGlobals).Lookup(uint32(0), &g); err != nil {
		t.Fatal(err)
	}
	for i := uint32(10 << 24); len(crowd) < n || len(odd) < 4; i++ {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], i)
		code := wire.Permute(&g.Salt, i)
		if code>>16 == 77 && len(crowd) < n {
			crowd = append(crowd, netip.AddrFrom4(b))
		}
		if tag := code & 0xffff; tag == bpf.BlockFree || tag == bpf.BlockOthers {
			odd = append(odd, netip.AddrFrom4(b))
		}
	}
	return crowd, odd
}

// A line of the table of blocks takes 31 of them. What is beyond is blocked too, and what is not blocked is
// not, while they come and go.
func TestBlocksBeyondALine(t *testing.T) {
	lab := newLab(t)
	crowd, odd := aimed(t, lab, 60)
	sources := slices.Concat(crowd[:50], odd)
	var rules []rulemap.Rule
	for _, a := range sources {
		rules = append(rules, progtest.Block(a.String()+"/32"))
	}
	want := func(outcome progtest.Outcome, sources []netip.Addr) {
		t.Helper()
		for _, a := range sources {
			wantRuns(t, lab, outcome, udp(a.String()))
		}
	}
	lab.SetRules(rules...)
	want(blocked, sources)
	want(noPolicy, crowd[50:])
	for _, a := range sources[10:] {
		if _, err := lab.Rules.Unset(prefixes(a.String() + "/32")); err != nil {
			t.Fatal(err)
		}
	}
	want(noPolicy, sources[10:])
	want(blocked, sources[:10])
	lab.SetRules(rules...)
	want(blocked, sources)
}

// While rules around them, and their own, are replaced all the time, and the filter is made anew again and
// again, not one packet of a listed source passes.
func TestListedNeverPassWhileRulesChange(t *testing.T) {
	need.CPUs(t, 2)
	lab := newLab(t)
	lab.SetRules(progtest.Block(alice+"/32"), progtest.Block("10.0.0.0/8"), progtest.Block("2001:db8::/32"))
	done := make(chan error, 1)
	go func() { done <- churn(lab, 25) }()
	before := lab.Counts()
	sent, sources := 0, []string{alice, "10.1.2.3", "2001:db8::1"}
	for running := true; running; sent++ {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			running = false
		default:
		}
		lab.Parallel(progtest.Load{Frame: udp(sources[sent%3]), N: 300_000})
	}
	counts := lab.Counts().Since(before)
	if passed := counts.Packets() - counts[blocked].Packets; passed != 0 {
		t.Errorf("%d packets of %d were not blocked: %v", passed, counts.Packets(), counts)
	}
	if g := ladder(t, lab, bpf.Ladder4).Generation; g != 1 {
		t.Errorf("generation %d after 25 times, want 1", g)
	}
}

// churn changes rules so that each round makes both filters anew.
func churn(lab *progtest.Lab, rounds int) error {
	var around []rulemap.Rule
	var gone []netip.Prefix
	for i := range 100 {
		a4 := netip.AddrFrom4([4]byte{10, 9, byte(i), byte(i)})
		a6 := netip.AddrFrom16([16]byte{0x20, 1, 0x0d, 0xb9, byte(i)})
		for _, p := range []netip.Prefix{netip.PrefixFrom(a4, 16+i%17).Masked(), netip.PrefixFrom(a6, 32+i%97).Masked()} {
			around = append(around, rulemap.Rule{Prefix: p, Action: rulemap.Block, Until: rulemap.Forever})
			gone = append(gone, p)
		}
	}
	own := progtest.Block(alice + "/32")
	for round := range rounds {
		own.Until = rulemap.Forever - uint64(round%2)
		if _, err := lab.Rules.SetAll(append(around, own), nil); err != nil {
			return err
		}
		if _, err := lab.Rules.Unset(gone); err != nil {
			return err
		}
	}
	return nil
}
