package rulemap_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/progtest"
)

func newLab(t *testing.T, rules int) *progtest.Lab {
	t.Helper()
	need.Root(t)
	return progtest.New(t, progtest.Options{Rules: rules})
}

// describe writes rules in a form that reads well in a failure.
func describe(rules []rulemap.Rule) []string {
	var lines []string
	for _, r := range rules {
		lines = append(lines, fmt.Sprintf("%s %s until %d by %s, policy %d, %+v",
			r.Action, r.Prefix, r.Until, r.Origin, r.PolicyID, r.Limit))
	}
	return lines
}

func wantRules(tb progtest.TB, lab *progtest.Lab, want ...rulemap.Rule) {
	tb.Helper()
	got, err := lab.Rules.List()
	if err != nil {
		tb.Fatal(err)
	}
	if diff := cmp.Diff(describe(want), describe(got)); diff != "" {
		tb.Fatalf("rules (-want +got):\n%s", diff)
	}
}

func global(tb progtest.TB, lab *progtest.Lab) (g bpf.Global) {
	tb.Helper()
	if err := lab.Map(bpf.MapGlobals).Lookup(uint32(0), &g); err != nil {
		tb.Fatal(err)
	}
	return g
}

// setCounts makes the counts wrong.
func setCounts(tb progtest.TB, lab *progtest.Lab, v4, v6 uint64) {
	tb.Helper()
	g := global(tb, lab)
	g.Rules4, g.Rules6 = v4, v6
	if err := lab.Map(bpf.MapGlobals).Put(uint32(0), &g); err != nil {
		tb.Fatal(err)
	}
}

// wantCounts compares the counts that let the program skip the rules.
func wantCounts(tb progtest.TB, lab *progtest.Lab, v4, v6 uint64) {
	tb.Helper()
	g := global(tb, lab)
	if g.Rules4 != v4 || g.Rules6 != v6 {
		tb.Fatalf("%d IPv4 and %d IPv6 prefixes are counted, want %d and %d", g.Rules4, g.Rules6, v4, v6)
	}
}

func until(end uint64, r rulemap.Rule) rulemap.Rule {
	r.Until = end
	return r
}

func by(origin rulemap.Origin, r rulemap.Rule) rulemap.Rule {
	r.Origin = origin
	return r
}

func unset(tb progtest.TB, lab *progtest.Lab, want int, texts ...string) {
	tb.Helper()
	var prefixes []netip.Prefix
	for _, s := range texts {
		prefixes = append(prefixes, netip.MustParsePrefix(s))
	}
	removed, err := lab.Rules.Unset(prefixes)
	if err != nil || len(removed) != want {
		tb.Fatalf("removed %v, %v; want %d of %v", removed, err, want, texts)
	}
}

// A prefix can have one rule of each action, each with its own end and origin.
func TestActionsOfOnePrefixStandBesideEachOther(t *testing.T) {
	lab := newLab(t, 0)
	limit := by(rulemap.Fleet, progtest.Limit("10.0.0.0/8", 3, progtest.Packets("10pps", 20)))
	block := until(progtest.Start+5, by(rulemap.Fleet, progtest.Block("10.0.0.0/8")))
	allow := by(rulemap.Config, progtest.Allow("10.0.0.0/8"))
	lab.SetRules(limit)
	lab.SetRules(block, allow)
	wantRules(t, lab, allow, block, limit)
	wantCounts(t, lab, 1, 0)

	longer := until(progtest.Start+9, by(rulemap.CLI, progtest.Block("10.0.0.0/8")))
	other := progtest.Limit("10.0.0.0/8", 4, progtest.Bytes("64KiB/s", 4096))
	lab.SetRules(longer, other)
	wantRules(t, lab, allow, longer, other)

	lab.Advance(9)
	wantRules(t, lab, allow, other)
	unset(t, lab, 1, "10.0.0.0/8")
	wantRules(t, lab)
	wantCounts(t, lab, 0, 0)
}

// The kernel answers with a shorter prefix; that is not the one that was asked for.
func TestGetIsOfExactlyThePrefix(t *testing.T) {
	lab := newLab(t, 0)
	lab.SetRules(progtest.Block("10.0.0.0/8"), progtest.Block("0.0.0.0/0"), progtest.Block("2001:db8::/32"))
	for text, want := range map[string]int{
		"10.0.0.0/8": 1, "0.0.0.0/0": 1, "2001:db8::/32": 1, "10.1.2.3/8": 1,
		"10.0.0.0/9": 0, "10.0.0.0/7": 0, "10.0.0.0/32": 0, "::/0": 0, "2001:db8::/33": 0, "2001:db8::/128": 0,
	} {
		rules, err := lab.Rules.Get(netip.MustParsePrefix(text))
		if err != nil || len(rules) != want {
			t.Errorf("%s: %v, %v; want %d rules", text, rules, err, want)
		}
	}
	// Nor does a new rule there take over what the shorter one says.
	lab.SetRules(progtest.Allow("10.0.0.0/9"))
	wantRules(t, lab, progtest.Block("0.0.0.0/0"), progtest.Block("10.0.0.0/8"), progtest.Allow("10.0.0.0/9"),
		progtest.Block("2001:db8::/32"))
	unset(t, lab, 0, "10.0.0.0/10", "10.0.0.0/32", "::/0")
	unset(t, lab, 1, "10.0.0.0/8", "10.0.0.0/8")
	wantCounts(t, lab, 2, 1)
}

func TestEverythingAsAPrefix(t *testing.T) {
	lab := newLab(t, 0)
	lab.SetRules(progtest.Block("0.0.0.0/0"), progtest.Allow("::/0"))
	wantRules(t, lab, progtest.Block("0.0.0.0/0"), progtest.Allow("::/0"))
	wantCounts(t, lab, 1, 1)
	unset(t, lab, 1, "0.0.0.0/0")
	wantRules(t, lab, progtest.Allow("::/0"))
	wantCounts(t, lab, 0, 1)
}

// An IPv4-mapped prefix is the IPv4 one, under whatever name it is set or unset.
func TestMappedPrefixes(t *testing.T) {
	lab := newLab(t, 0)
	lab.SetRules(progtest.Block("::ffff:10.1.2.3/128"))
	wantRules(t, lab, progtest.Block("10.1.2.3/32"))
	unset(t, lab, 1, "::ffff:10.1.2.3/128")
	wantCounts(t, lab, 0, 0)
}

func TestListIsSorted(t *testing.T) {
	lab := newLab(t, 0)
	want := []rulemap.Rule{
		progtest.Block("0.0.0.0/0"), progtest.Block("9.0.0.0/8"), progtest.Block("10.0.0.0/8"),
		progtest.Block("10.0.0.0/9"), progtest.Block("10.0.0.0/32"), progtest.Block("10.0.0.1/32"),
		progtest.Block("::/0"), progtest.Block("::/1"), progtest.Block("2001:db8::/32"),
		progtest.Block("2001:db8::/128"),
	}
	shuffled := slices.Clone(want)
	slices.Reverse(shuffled)
	lab.SetRules(shuffled...)
	wantRules(t, lab, want...)
}

// Rules that have ended make room, and are gone for good.
func TestEndedRulesAreSwept(t *testing.T) {
	lab := newLab(t, 2)
	soon := progtest.Start + uint64(time.Second)
	lab.SetRules(until(soon, progtest.Block("10.0.0.1/32")), until(soon, progtest.Block("10.0.0.2/32")))
	lab.Advance(time.Second - 1)
	if err := lab.Rules.Set(progtest.Block("10.0.0.3/32")); !errors.Is(err, rulemap.ErrFull) {
		t.Errorf("%v before the rules end, want ErrFull", err)
	}
	lab.Advance(1)
	wantRules(t, lab)
	unset(t, lab, 0, "10.0.0.1/32") // it was not there any more
	lab.SetRules(progtest.Block("10.0.0.3/32"), progtest.Block("10.0.0.4/32"))
	wantCounts(t, lab, 2, 0)
	lab.SetClock(progtest.Start)
	wantRules(t, lab, progtest.Block("10.0.0.3/32"), progtest.Block("10.0.0.4/32"))
}

// Sweep leaves what still holds, also where another rule of its prefix has ended.
func TestSweep(t *testing.T) {
	lab := newLab(t, 0)
	allow := progtest.Allow("10.0.0.1/32")
	lab.SetRules(allow, until(progtest.Start+1, progtest.Block("10.0.0.1/32")),
		until(progtest.Start+1, progtest.Block("10.0.0.2/32")), until(progtest.Start+1, progtest.Block("::1/128")))
	lab.Advance(1)
	if err := lab.Rules.Sweep(); err != nil {
		t.Fatal(err)
	}
	wantRules(t, lab, allow)
	wantCounts(t, lab, 1, 0)
}

// What is there already is not written again.
func TestSetAllOfTheSame(t *testing.T) {
	lab := newLab(t, 0)
	rules := []rulemap.Rule{
		progtest.Block("10.0.0.1/32"), progtest.Allow("2001:db8::/64"), progtest.Limit("10.0.0.2/32", 1, progtest.Packets("3ppm", 7)),
	}
	lab.SetRules(rules...)
	written := 0
	rules[1].Until = progtest.Start + 9
	if _, err := lab.Rules.SetAll(rules, func(done int) { written = done }); err != nil || written != 1 {
		t.Errorf("%d written, %v, want the one that changed", written, err)
	}
	wantRules(t, lab, rules[0], rules[2], rules[1])
}

// More than one chunk, with progress told.
func TestManyRules(t *testing.T) {
	const n = 10_000
	lab := newLab(t, n)
	var rules []rulemap.Rule
	for i := range n {
		addr := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
		rules = append(rules, rulemap.Rule{Prefix: netip.PrefixFrom(addr, 32), Action: rulemap.Block, Until: rulemap.Forever})
	}
	var told []int
	if _, err := lab.Rules.SetAll(rules, func(done int) { told = append(told, done) }); err != nil {
		t.Fatal(err)
	}
	if want := []int{4096, 8192, n}; !slices.Equal(told, want) {
		t.Errorf("progress %v, want %v", told, want)
	}
	wantRules(t, lab, rules...)
	wantCounts(t, lab, n, 0)
	lab.DeleteAll()
	wantCounts(t, lab, 0, 0)
}
