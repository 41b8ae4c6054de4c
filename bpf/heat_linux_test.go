package bpf_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/maps/heatmap"
	"github.com/headgate/headgate/maps/policymap"
	"github.com/headgate/headgate/maps/rulemap"
	"github.com/headgate/headgate/maps/wire"
	"github.com/headgate/headgate/test/need"
	"github.com/headgate/headgate/test/packet"
	"github.com/headgate/headgate/test/progtest"
	"github.com/headgate/headgate/userspace/limit/heat"
)

// Credits for buckets, by their names in failures.
var (
	noCredit   = [bpf.CreditLen]heatmap.Credit{{Cost: 1}, {Cost: 1}}
	fewCredits = [bpf.CreditLen]heatmap.Credit{
		bpf.CreditCold: {Cost: 100 * time.Millisecond, Burst: 300 * time.Millisecond},
		bpf.CreditHot:  {Cost: 20 * time.Millisecond, Burst: 200 * time.Millisecond},
	}
	hotCredits = [bpf.CreditLen]heatmap.Credit{bpf.CreditCold: {Cost: 1}, bpf.CreditHot: {Burst: time.Hour}}
	allCredits = heatmap.Unlimited()
)

// The program and the specification of the two tiers decide the same, count the same and leave the same
// in every cell, over a million packets: where sources have to share few cells, get buckets or get none,
// and time goes on, stands still, or goes back.
func TestHeatEqualsModel(t *testing.T) {
	need.Root(t)
	const smallest = 256 // lines
	tests := []struct {
		name    string
		options progtest.Options
	}{
		{"no credit", progtest.Options{Heat: progtest.Heat{Lines: smallest, Credits: &noCredit}}},
		{"few credits", progtest.Options{Heat: progtest.Heat{Lines: smallest, Credits: &fewCredits}}},
		{"only hot credits", progtest.Options{Heat: progtest.Heat{Lines: smallest, Credits: &hotCredits}}},
		{"all credits", progtest.Options{Heat: progtest.Heat{Lines: smallest, Credits: &allCredits}}},
		{"same tag, few credits", progtest.Options{Heat: progtest.Heat{Lines: smallest, Credits: &fewCredits, Collide: true}}},
		{"same tag, only hot credits", progtest.Options{Heat: progtest.Heat{Lines: smallest, Credits: &hotCredits, Collide: true}}},
		{"few buckets", progtest.Options{Sources: 12, Fixed: true, Heat: progtest.Heat{Lines: smallest, Credits: &allCredits}}},
		{"few buckets, few credits", progtest.Options{Sources: 12, Fixed: true, Heat: progtest.Heat{Lines: smallest, Credits: &fewCredits}}},
		{"large table", progtest.Options{Heat: progtest.Heat{Lines: 4096, Credits: &hotCredits}}},
		{"long keys", progtest.Options{LongKeys: true, Heat: progtest.Heat{Lines: smallest, Credits: &fewCredits}}},
	}
	var seen heatSeen
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lab := progtest.New(t, tt.options)
			for seed := range uint64(4) {
				h := heatComparison{T: t, Rand: rand.New(rand.NewPCG(seed, uint64(i))), lab: lab.For(t), options: tt.options, seen: &seen}
				h.run(25_000)
			}
		})
	}
	if !t.Failed() {
		seen.check(t)
	}
}

// heatSeen is what happened in all comparisons, lest they compare nothing.
type heatSeen struct {
	packets uint64
	tiers   heat.Counts
	counts  progtest.Counts
}

func (s *heatSeen) add(m *progtest.Model) {
	if s.counts == nil {
		s.counts = make(progtest.Counts)
	}
	for outcome, c := range m.Counts {
		sum := s.counts[outcome]
		sum.Add(c)
		s.counts[outcome] = sum
		s.packets += c.Packets
	}
	s.tiers.Cold += m.Tiers.Counts.Cold
	s.tiers.Inserts += m.Tiers.Counts.Inserts
	s.tiers.Deferred += m.Tiers.Counts.Deferred
}

func (s *heatSeen) check(t *testing.T) {
	t.Helper()
	t.Logf("%d packets: %v, %+v", s.packets, s.counts, s.tiers)
	const some = 1000
	if s.packets < 1_000_000 || s.tiers.Cold < some || s.tiers.Inserts < some || s.tiers.Deferred < some {
		t.Errorf("too little happened: %d packets, %+v", s.packets, s.tiers)
	}
	for _, outcome := range []progtest.Outcome{
		underLimit, overPackets, overBytes, wouldOverPackets, untrackedPass, untrackedDrop,
	} {
		if s.counts[outcome].Packets < some {
			t.Errorf("%v: only %d packets", outcome, s.counts[outcome].Packets)
		}
	}
}

// heatComparison runs the program and the model side by side.
type heatComparison struct {
	*testing.T
	*rand.Rand
	lab     *progtest.Lab
	options progtest.Options
	model   *progtest.Model
	seen    *heatSeen
	now     uint64

	countsBefore progtest.Counts
	tiersBefore  heat.Counts
	history      []string
}

// batch is how many packets come between two comparisons of all that is kept.
const batch = 100

func (h *heatComparison) run(packets int) {
	h.Helper()
	h.lab.DeleteAll()
	h.lab.Forget()
	for n := range heatSources {
		if err := h.lab.Verified.Remove([]netip.Addr{heatSource(n)}); err != nil {
			h.Fatal(err)
		}
	}
	h.model = progtest.NewModel(h.options)
	h.now = []uint64{progtest.Start, 1, 1 << 46, 1<<47 - uint64(time.Second)}[h.IntN(4)]
	h.lab.SetClock(h.now)
	h.countsBefore, h.tiersBefore = h.lab.Counts(), h.lab.Tiers()
	h.configure()
	for n := 0; n < packets; n += batch {
		h.change()
		h.packets(batch)
		h.compare()
	}
	h.compareSources()
	h.seen.add(h.model)
}

func (h *heatComparison) note(format string, args ...any) {
	h.history = append(h.history, fmt.Sprintf(format, args...))
}

func (h *heatComparison) one(n int) bool { return h.IntN(n) == 0 }

// configure makes up to eight policies. The later ones have so few lines that all share them.
func (h *heatComparison) configure() {
	policies := []policymap.Policy{{Name: policymap.Default}, udpPort("p1", 53), udpPort("p2", 80), udpPort("p3", 61),
		{Name: "p4", HasProto: true, Proto: 17}, {Name: "p5", Ports: policymap.Ports{First: 1, Last: 60}},
		{Name: "p6", Ports: policymap.Ports{First: 60, Last: 90}}, {Name: "p7", Unverified: true}}
	h.Shuffle(len(policies), func(i, j int) { policies[i], policies[j] = policies[j], policies[i] })
	kept := 1 + h.IntN(4)
	h.lab.Configure(func(c *policymap.Config) { c.DryRun, c.ValidUntil = h.one(8), policymap.Forever })
	for i := range policies {
		h.redraw(&policies[i])
	}
	// All are made, so that those that stay may be at any slot.
	h.lab.SetPolicy(policies...)
	for _, p := range policies[:len(policies)-kept] {
		h.lab.DeletePolicy(p.Name)
	}
	h.model.Config = h.lab.Config()
	h.note("%+v", h.model.Config.Policies)
}

// redraw changes all of a policy but what it matches.
func (h *heatComparison) redraw(p *policymap.Policy) {
	p.Limit = h.limit()
	for p.Name != policymap.Default && p.Limit.IsZero() {
		p.Limit = h.limit()
	}
	p.Overflow = []policymap.Overflow{policymap.OverflowEstimate, policymap.OverflowEstimate, policymap.OverflowPass, policymap.OverflowDrop}[h.IntN(4)]
	p.DryRun = h.one(5)
	p.Key = policymap.PerSource
	if h.one(10) {
		p.Key = policymap.Shared
	}
}

// limit draws limits of all kinds: timed by the exact clock, by the tick, too long for cells, and none.
func (h *heatComparison) limit() wire.Limit {
	pick := func(limits ...wire.Limit) wire.Limit { return limits[h.IntN(len(limits))] }
	packets := pick(
		progtest.Packets("1Mpps", 20), progtest.Packets("10kpps", 40), progtest.Packets("100pps", 5),
		progtest.Packets("3pps", 1), progtest.Packets("7pps", 9), progtest.Packets("1pps", 3), progtest.Packets("100pps", 100),
	)
	bytes := pick(
		progtest.Bytes("100kB/s", 3000), progtest.Bytes("1kB/s", 1500), progtest.Bytes("1kB/s", 5001),
		progtest.Bytes("400Gbit/s", 2001), progtest.Bytes("300Gbit/s", 999),
	)
	switch h.IntN(12) {
	case 0:
		return wire.Limit{}
	case 1:
		return progtest.Packets("6pph", 20)
	case 2, 3, 4:
		return bytes
	case 5, 6:
		return progtest.Both(packets, bytes)
	}
	return packets
}

// change draws what changes between two batches. Configurations change rarely, as that takes the kernel
// some milliseconds.
func (h *heatComparison) change() {
	if h.one(25) {
		h.changePolicy()
	}
	if h.one(4) {
		h.evict()
	}
	if h.one(8) {
		h.changeRule()
	}
	// Where all have one hash, one who is verified vouches for all.
	if !h.options.Heat.Collide && h.one(8) {
		h.verify()
	}
}

func (h *heatComparison) changePolicy() {
	policies := h.model.Config.Policies
	p := policies[h.IntN(len(policies))]
	h.redraw(&p)
	h.lab.SetPolicy(p)
	h.model.Config = h.lab.Config()
	h.note("policy %+v", p)
}

// evict takes a bucket away.
func (h *heatComparison) evict() {
	policies := h.model.Config.Policies
	key := progtest.SourceKey{Addr: h.source(), PolicyID: policies[h.IntN(len(policies))].ID()}
	if got, want := h.lab.Evict(key), h.model.Tiers.Evict(key); got != want {
		h.fail("the program has a bucket of %v: %v, the model %v", key, got, want)
	}
	h.note("evict %v", key)
}

func (h *heatComparison) changeRule() {
	source := h.source()
	prefix := netip.PrefixFrom(source, source.BitLen())
	h.model.Unset(prefix)
	if _, err := h.lab.Rules.Unset([]netip.Prefix{prefix}); err != nil {
		h.Fatal(err)
	}
	h.note("unset %v", prefix)
	if h.one(3) {
		return
	}
	policies := h.model.Config.Policies
	rule := progtest.Limit(prefix.String(), policies[h.IntN(len(policies))].ID(), h.limit())
	for rule.Limit.IsZero() {
		rule.Limit = h.limit()
	}
	rule.Until = h.now + uint64(h.Int64N(int64(10*time.Second)))
	rule.Origin = []rulemap.Origin{rulemap.CLI, rulemap.HandDown}[h.IntN(2)]
	h.model.SetRule(rule)
	h.lab.SetRules(rule)
	h.note("rule %+v", rule)
}

func (h *heatComparison) verify() {
	source, until := h.source(), h.now+uint64(h.Int64N(int64(time.Minute)))
	if err := h.lab.Verified.Add([]netip.Addr{source}, until); err != nil {
		h.Fatal(err)
	}
	h.model.Verify(source, until)
	h.note("verify %v until %d", source, until)
}

// source draws one of some hundred, a few of which send most.
func (h *heatComparison) source() netip.Addr {
	return heatSource(h.IntN(1 + h.IntN(1+h.IntN(heatSources))))
}

const heatSources = 120

func heatSource(n int) netip.Addr {
	if n%5 == 4 {
		return addr(fmt.Sprintf("2001:db8:0:%x::", n))
	}
	return addr(fmt.Sprintf("10.0.0.%d", n))
}

// packets gives both the same packets, of which some come in trains.
func (h *heatComparison) packets(n int) {
	steps, want := make([]progtest.Step, n), make([]progtest.Decision, n)
	frame := h.frame()
	for i := range steps {
		if h.one(3) {
			frame = h.frame()
		}
		h.now += uint64(h.gap())
		steps[i] = progtest.Step{At: h.now, Frame: frame}
		want[i], _ = h.model.Decide(frame, h.now)
		h.note("at %d %v, %d bytes: %v", h.now, progtest.Parse(frame).Source, want[i].Length, want[i].Outcome)
	}
	for i, got := range h.lab.Steps(steps...) {
		if (got == progtest.Drop) != (want[i].Verdict == bpf.VerdictDrop) {
			h.history = h.history[:len(h.history)-n+i+1]
			h.fail("the program says %d of the last packet", got)
		}
	}
}

func (h *heatComparison) frame() []byte {
	source, port := h.source().String(), []uint16{53, 80, 61, 7}[h.IntN(4)]
	destination := dst4
	if addr(source).Is6() {
		destination = dst6
	}
	return packet.UDPFrame(source, destination, port, []int{0, 72, 72, 500, 1400}[h.IntN(5)])
}

// gap draws how much later the next packet comes: mostly not at all, or about as much as a limit counts
// in. It may be earlier.
func (h *heatComparison) gap() time.Duration {
	some := []time.Duration{time.Microsecond, 100 * time.Microsecond, progtest.Tick, 100 * time.Millisecond, time.Second}
	switch n := h.IntN(1000); {
	case n < 600:
		return 0
	case n < 650:
		return 1
	case n < 900:
		return time.Duration(h.Int64N(int64(some[h.IntN(len(some))])))
	case n < 950:
		return progtest.Tick + time.Duration(h.IntN(3)-1)
	case n < 980:
		return time.Duration(h.Int64N(int64(10 * time.Second)))
	case n < 984:
		return time.Duration(h.Int64N(int64(6 * time.Hour)))
	case n < 986:
		return time.Duration(h.Int64N(int64(48 * time.Hour)))
	}
	return -time.Duration(h.Int64N(int64(min(2*time.Second, time.Duration(h.now)))))
}

// compare compares all that is kept. On failure it says what happened since the last comparison.
func (h *heatComparison) compare() {
	h.Helper()
	if diff := cmp.Diff(h.model.Counts, h.lab.Counts().Since(h.countsBefore)); diff != "" {
		h.fail("counts (-model +program):\n%s", diff)
	}
	tiers := h.lab.Tiers()
	tiers.Cold -= h.tiersBefore.Cold
	tiers.Inserts -= h.tiersBefore.Inserts
	tiers.Deferred -= h.tiersBefore.Deferred
	if want := h.model.Tiers.Counts; tiers != want {
		h.fail("the program counts %+v, and the model %+v", tiers, want)
	}
	if got, want := h.lab.Cells(), h.model.Tiers.Lines(); !slices.Equal(got, want) {
		for i := range got {
			if got[i] != want[i] {
				h.fail("line %d is %+v, and in the model %+v", i, got[i], want[i])
			}
		}
	}
	h.history = h.history[:0]
}

// compareSources compares how many sources have a bucket.
func (h *heatComparison) compareSources() {
	h.Helper()
	got := sources(h, h.lab)
	if len(got) != h.model.Tiers.Len() {
		h.fail("%d sources have buckets, and %d in the model", len(got), h.model.Tiers.Len())
	}
}

func (h *heatComparison) fail(format string, args ...any) {
	h.Helper()
	h.Fatalf("%s\nafter\n%s", fmt.Sprintf(format, args...), strings.Join(h.history, "\n"))
}
