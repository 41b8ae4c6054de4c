package limit_test

import (
	"math/big"
	"testing"

	"github.com/headgate/headgate/userspace/limit"
	"pgregory.net/rapid"
)

func TestConvert(t *testing.T) {
	const now = 1000
	fine, coarse := limit.Params{Cost: 10, Burst: 100, Shift: 4}, limit.Params{Cost: 10, Burst: 100}
	tests := []struct {
		name string
		p    limit.Params
		was  uint8
		tat  uint64
		want uint64
	}{
		{"passed", coarse, 0, now - 1, now},
		{"is now", coarse, 0, now, now},
		{"never set", coarse, 0, 0, now},
		{"at burst", coarse, 0, now + 100, now + 100},
		{"beyond burst", coarse, 0, now + 101, now + 100},
		{"finer", fine, 0, now + 6, now<<4 + 96},
		{"finer, beyond burst", fine, 0, now + 7, now<<4 + 100},
		{"finer, would overflow", fine, 0, now + 1<<62, now<<4 + 100},
		{"finer, passed", fine, 0, now - 1, now << 4},
		{"coarser", coarse, 4, now<<4 + 32, now + 2},
		{"coarser, rounded up", coarse, 4, now<<4 + 33, now + 3},
		{"coarser, less than a tick", coarse, 4, now<<4 + 1, now + 1},
		{"coarser, at burst", coarse, 4, now<<4 + 1600, now + 100},
		{"coarser, rounded beyond burst", coarse, 4, now<<4 + 1601, now + 100},
		{"the most ahead", coarse, 0, now + 1<<62 + limit.ClockSlack, now + 100},
		{"further ahead has passed", coarse, 0, now + 1<<62 + limit.ClockSlack + 1, now},
		{"limit removed", limit.Params{}, 4, now<<4 + 33, now},
	}
	for _, tt := range tests {
		if got := tt.p.Convert(limit.State{TAT: tt.tat}, tt.was, now); got.TAT != tt.want {
			t.Errorf("%s: %d becomes %d, want %d", tt.name, tt.tat, got.TAT, tt.want)
		}
	}
}

// The debt stays the same time, rounded up to a tick, or is the new burst.
func TestConvertKeepsTheDebt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		was, p := drawLimit(t), drawLimit(t)
		debt := rapid.Uint64Range(0, was.Burst).Draw(t, "debt")
		s := was.Fresh(start)
		s.TAT += debt

		want := new(big.Int).Lsh(unsigned(debt), uint(p.Shift))
		want.Add(want, big.NewInt(1<<was.Shift-1)).Rsh(want, uint(was.Shift))
		if burst := unsigned(p.Burst); want.Cmp(burst) > 0 {
			want = burst
		}
		got := p.Convert(s, was.Shift, start)
		if left := got.TAT - start<<p.Shift; unsigned(left).Cmp(want) != 0 {
			t.Fatalf("debt %d of %v becomes %d of %v, want %v", debt, was, left, p, want)
		}
		if again := p.Convert(got, p.Shift, start); again != got {
			t.Fatalf("%v: %+v, converted again, is %+v", p, got, again)
		}
	})
}

// A source that idles for three quarters of a wrap cannot be told from one far
// ahead. It pays for that with the burst time, and no more.
func TestConvertLateInAWrapIsStrict(t *testing.T) {
	p := limit.Params{Cost: 1311, Burst: 1311 * 10, Shift: 16}
	s := p.Fresh(start)
	late := uint64(start + 3<<46 - limit.ClockSlack)
	if got := p.Convert(s, 16, late-1); p.Remaining(got, late-1) != 10 {
		t.Errorf("just before: %+v", got)
	}
	got := p.Convert(s, 16, late)
	if n := p.Remaining(got, late); n != 0 {
		t.Errorf("afterwards: %d remain", n)
	}
	if n := p.Remaining(got, late+p.Burst>>16+1); n != 10 {
		t.Errorf("one burst time later: %d remain", n)
	}
}
