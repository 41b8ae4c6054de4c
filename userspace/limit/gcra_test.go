package limit_test

import (
	"math"
	"testing"

	"github.com/headgate/headgate/bpf"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
)

const (
	second = 1_000_000_000
	start  = 1_700_000_000 * second // any clock reading
)

func packets(t testing.TB, text string, burst uint64) limit.Params {
	t.Helper()
	return compiled(t, rate.ParsePackets, text, burst)
}

func compiled(t testing.TB, parse func(string) (rate.Rate, error), text string, burst uint64) limit.Params {
	t.Helper()
	r, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := limit.Compile(r, burst)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// admit offers tries packets at one time and counts those that pass.
func admit(p limit.Params, s *limit.State, tries int, now uint64) (passed int) {
	for range tries {
		if p.Take(s, 1, now) {
			passed++
		}
	}
	return passed
}

func TestBurstFromIdleIsExact(t *testing.T) {
	for _, text := range []string{"1pph", "7ppm", "1pps", "3pps", "10kpps", "2.5Mpps", "99999989pps", "100Mpps"} {
		for _, burst := range []uint64{1, 2, 3, 1000, 100_000} {
			p := packets(t, text, burst)
			s := p.Fresh(start)
			if got := admit(p, &s, int(burst)+5, start); got != int(burst) {
				t.Errorf("%s burst %d: %d passed back to back", text, burst, got)
			}
		}
	}
}

// A fixed window would pass 2N around its edge.
func TestWindowEdge(t *testing.T) {
	tests := []struct {
		text string
		n    int
		want int // of N more packets 2 ms after a full burst: 0.002 N, exactly
	}{
		{"1pps", 1, 0},
		{"100pps", 100, 0},
		{"500pps", 500, 1},
		{"1kpps", 1000, 2},
		{"1499pps", 1499, 2},
		{"10kpps", 10_000, 20},
		{"1Mpps", 1_000_000, 2000},
	}
	for _, tt := range tests {
		p := packets(t, tt.text, uint64(tt.n))
		s := p.Fresh(start)
		if got := admit(p, &s, tt.n, start+999*second/1000); got != tt.n {
			t.Errorf("%s: %d passed at 0.999 s, want %d", tt.text, got, tt.n)
		}
		if got := admit(p, &s, tt.n, start+1001*second/1000); got != tt.want {
			t.Errorf("%s: %d passed at 1.001 s, want %d", tt.text, got, tt.want)
		}
	}
}

func TestTakeSteps(t *testing.T) {
	const (
		now   = 1000
		slack = limit.ClockSlack
	)
	p := limit.Params{Cost: 100, Burst: 250}
	fine := limit.Params{Cost: 100, Burst: 250, Shift: 16}
	long := limit.Params{Cost: 1 << 61, Burst: 1 << 62}
	tests := []struct {
		name string
		p    limit.Params
		tat  uint64
		n    uint64
		now  uint64
		want bool
		then uint64
	}{
		{"fresh", p, now, 1, now, true, now + 100},
		{"never set, time 0", p, 0, 1, 0, true, 100},
		{"never set, later", p, 0, 1, now, true, now + 100},
		{"passed", p, now - 1, 1, now, true, now + 100},
		{"ahead", p, now + 150, 1, now, true, now + 250},
		{"one tick too far ahead", p, now + 151, 1, now, false, now + 151},
		{"whole burst", p, now, 2, now, true, now + 200},
		{"more than the burst", p, now, 3, now, false, now},
		{"beyond the burst", p, now + 251, 1, now, false, now + 251},
		{"at the slack", p, now + 250 + slack, 1, now, false, now + 250 + slack},
		{"beyond the slack", p, now + 251 + slack, 1, now, true, now + 100},
		{"fine, ahead", fine, now<<16 + 150, 1, now, true, now<<16 + 250},
		{"fine, at the slack", fine, now<<16 + 250 + slack<<16, 1, now, false, now<<16 + 250 + slack<<16},
		{"fine, beyond the slack", fine, now<<16 + 251 + slack<<16, 1, now, true, now<<16 + 100},
		{"fine, clock wraps", fine, math.MaxUint64, 1, 1 << 48, true, 100},
		{"fine, debt across the wrap", fine, 100, 1, 1<<48 - 1, false, 100},
		{"longest burst", long, now, 2, now, true, now + 1<<62},
		{"longest burst, spent", long, now + 1<<62, 1, now, false, now + 1<<62},
		{"longest burst, TAT wraps", long, 3 << 62, 2, 3 << 62, true, 0},
		{"price overflows", p, now, math.MaxUint64, now, false, now},
		{"price overflows to 0", limit.Params{Cost: 1 << 40, Burst: 1 << 41}, now, 1 << 24, now, false, now},
		{"debt and price overflow", limit.Params{Cost: 1, Burst: 1 << 62}, now + 1<<62, math.MaxUint64, now, false, now + 1<<62},
		{"no units", p, now + 251, 0, now, true, now + 251},
		{"no limit", limit.Params{}, 9, math.MaxUint64, now, true, 9},
	}
	for _, tt := range tests {
		s := limit.State{TAT: tt.tat}
		if fits := tt.p.Fits(s, tt.n, tt.now); fits != tt.want {
			t.Errorf("%s: Fits = %v, want %v", tt.name, fits, tt.want)
		}
		if got := tt.p.Take(&s, tt.n, tt.now); got != tt.want || s.TAT != tt.then {
			t.Errorf("%s: Take = %v, TAT %d; want %v, %d", tt.name, got, s.TAT, tt.want, tt.then)
		}
	}
}

// What the package says of a source that idles until the ticks come round.
func TestWrapIsStrictForTheBurstTime(t *testing.T) {
	p := limit.Params{Cost: 1 << 16, Burst: 10 << 16, Shift: 16} // 1 ns each
	const wrap = 1 << 48
	tests := []struct {
		idle      uint64
		remaining uint64
	}{
		{10, 10},
		{wrap - limit.ClockSlack - 1, 10},
		{wrap - limit.ClockSlack, 0},
		{wrap - 1, 0},
		{wrap, 0},
		{wrap + 3, 3},
		{wrap + 10, 10},
	}
	for _, tt := range tests {
		s := p.Fresh(start)
		p.Take(&s, 10, start)
		if got := p.Remaining(s, start+tt.idle); got != tt.remaining {
			t.Errorf("idle for %d ns: %d remain, want %d", tt.idle, got, tt.remaining)
		}
	}
}

func TestConstantsAreThoseOfC(t *testing.T) {
	if limit.ClockSlack != bpf.ClockSlackNs {
		t.Errorf("clock slack %d, in C %d", limit.ClockSlack, bpf.ClockSlackNs)
	}
	if limit.MaxShift >= 1<<bpf.ShiftBits {
		t.Errorf("shift %d does not fit in the %d bits of a fingerprint", limit.MaxShift, bpf.ShiftBits)
	}
}
