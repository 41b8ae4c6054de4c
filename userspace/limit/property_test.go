package limit_test

import (
	"math/big"
	"testing"

	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
	"pgregory.net/rapid"
)

// tokens is a token bucket with exact arithmetic: an independent way to say
// what the limiter must do. A token is worth the cost of a unit in ticks.
type tokens struct {
	cost, burst *big.Int
	free        *big.Int
	last        uint64
	shift       uint
}

func newTokens(p limit.Params, now uint64) *tokens {
	return &tokens{
		cost: unsigned(p.Cost), burst: unsigned(p.Burst), free: unsigned(p.Burst),
		last: now, shift: uint(p.Shift),
	}
}

func (b *tokens) take(n, now uint64) bool {
	earned := unsigned(now - b.last)
	b.free.Add(b.free, earned.Lsh(earned, b.shift))
	if b.free.Cmp(b.burst) > 0 {
		b.free.Set(b.burst)
	}
	b.last = now
	price := new(big.Int).Mul(b.cost, unsigned(n))
	if price.Cmp(b.free) > 0 {
		return false
	}
	b.free.Sub(b.free, price)
	return true
}

// The limiter decides as an exact token bucket does, so that it neither admits
// more than burst + rate*t nor refuses a source that stays within that.
func TestEqualsExactTokenBucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLimit(t)
		now := uint64(start)
		model, s := newTokens(l.Params, now), l.Fresh(now)
		for range rapid.IntRange(1, 200).Draw(t, "packets") {
			now += l.gap(t)
			n := l.units(t)
			want := model.take(n, now)
			if fits, took := l.Fits(s, n, now), l.Take(&s, n, now); took != want || fits != want {
				t.Fatalf("%v: %d units at %d: Fits %v, Take %v, token bucket %v", l, n, now, fits, took, want)
			}
		}
	})
}

func TestExactlyTheBurstFromIdle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLimit(t)
		s, left := l.Fresh(start), l.burst
		for left > 0 {
			n := rapid.Uint64Range(1, left).Draw(t, "units")
			if !l.Take(&s, n, start) {
				t.Fatalf("%v: %d units refused with %d left", l, n, left)
			}
			left -= n
		}
		if l.Take(&s, 1, start) {
			t.Fatalf("%v: one more than the burst passed", l)
		}
	})
}

// passed is a charge that the limiter let pass, by the clock of its CPU.
type passed struct{ units, at uint64 }

// checkWindows checks that no window between two charges holds more than
// burst + rate*t, with the rate as it was asked for and without rounding.
func checkWindows(t *rapid.T, l drawn, all []passed) {
	count, per := unsigned(l.rate.Count), big.NewInt(int64(l.rate.Per))
	for i, first := range all {
		units := uint64(0)
		for _, last := range all[i:] {
			units += last.units
			// Clocks disagree: the time may be negative, and buys less then.
			over := new(big.Int).Sub(unsigned(units), unsigned(l.burst))
			earned := new(big.Int).Mul(big.NewInt(int64(last.at-first.at)), count)
			if over.Mul(over, per).Cmp(earned) > 0 {
				t.Fatalf("%v: %d units within %d ns", l, units, int64(last.at-first.at))
			}
		}
	}
}

// The bound holds in every window, whatever debt the source begins with, and
// also if CPUs with different clocks take turns.
func TestEveryWindowIsBounded(t *testing.T) {
	clocks := map[string]func(*rapid.T, uint64) uint64{
		"one clock": func(_ *rapid.T, now uint64) uint64 { return now },
		"disorder":  reading,
	}
	for name, clock := range clocks {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			l := drawLimit(t)
			s := l.state(t)
			now := uint64(start)
			var all []passed
			for range rapid.IntRange(1, 60).Draw(t, "packets") {
				now += l.gap(t)
				at, n := clock(t, now), l.units(t)
				if l.Take(&s, n, at) {
					all = append(all, passed{n, at})
				}
			}
			checkWindows(t, l, all)
		}))
	}
}

// What fits fits later too: a clock that is behind admits no more.
func TestLaterIsNeverStricter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLimit(t)
		s, n := l.state(t), l.units(t)
		earlier := start + l.gap(t)
		later := earlier + l.gap(t)
		if l.Fits(s, n, earlier) && !l.Fits(s, n, later) {
			t.Fatalf("%v %+v: %d units fit at %d but not at %d", l, s, n, earlier, later)
		}
	})
}

// A source that keeps its distance always passes, with a burst of one.
func TestConformingSourceAlwaysPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRate(t, rate.Packets)
		p, err := limit.Compile(r, 1)
		if err != nil {
			t.Fatal(err)
		}
		s, now := p.Fresh(start), uint64(start)
		for i := range 500 {
			if !p.Take(&s, 1, now) {
				t.Fatalf("%s: packet %d of a steady source refused", r, i)
			}
			now += (p.Cost-1)>>p.Shift + 1
		}
	})
}

// A drained bucket is the same as none, until the ticks come round.
func TestDrainedStaysDrained(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLimit(t)
		s := l.Fresh(start)
		l.Take(&s, l.burst, start)
		paidOff := (l.Burst-1)>>l.Shift + 1
		comesRound := (-(l.Burst + limit.ClockSlack<<l.Shift)) >> l.Shift
		idle := rapid.OneOf(
			rapid.Uint64Range(paidOff, comesRound),
			rapid.SampledFrom([]uint64{paidOff, comesRound}),
		).Draw(t, "idle")
		if got := l.Remaining(s, start+idle); got != l.burst {
			t.Fatalf("%v: idle for %d ns, %d remain", l, idle, got)
		}
		if !l.Take(&s, l.burst, start+idle) || l.Take(&s, 1, start+idle) {
			t.Fatalf("%v: idle for %d ns, not exactly the burst passed", l, idle)
		}
	})
}

// Whatever they are given, the functions return, and agree with each other.
func TestAnyInputReturns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u64 := rapid.Uint64()
		p := limit.Params{Cost: u64.Draw(t, "cost"), Burst: u64.Draw(t, "burst"), Shift: rapid.Uint8().Draw(t, "shift")}
		s := limit.State{TAT: u64.Draw(t, "TAT")}
		n, now := u64.Draw(t, "n"), u64.Draw(t, "now")
		p.Remaining(s, now)
		p.RetryAfter(s, n, now)
		after := s
		if fits := p.Fits(s, n, now); fits != p.Take(&after, n, now) || !fits && after != s {
			t.Fatalf("%+v %+v: Fits(%d, %d) = %v, then %+v", p, s, n, now, fits, after)
		}
		converted := p.Convert(s, rapid.Uint8().Draw(t, "was"), now)
		if debt := converted.TAT - now<<p.Shift; debt > p.Burst {
			t.Fatalf("%+v: %+v is beyond the burst at %d", p, converted, now)
		}
	})
}
