package limit_test

import (
	"math"
	"testing"

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
			p, s := packets(t, text, burst), limit.State{}
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
		p, s := packets(t, tt.text, uint64(tt.n)), limit.State{}
		if got := admit(p, &s, tt.n, start+999*second/1000); got != tt.n {
			t.Errorf("%s: %d passed at 0.999 s, want %d", tt.text, got, tt.n)
		}
		if got := admit(p, &s, tt.n, start+1001*second/1000); got != tt.want {
			t.Errorf("%s: %d passed at 1.001 s, want %d", tt.text, got, tt.want)
		}
	}
}

func TestTakeSteps(t *testing.T) {
	// 3pps costs 333333333 1/3 ns: 0x55555555 is the third of 2^32.
	third := limit.Params{Cost: 333_333_333, CostFrac: 0x5555_5555, Burst: 666_666_666, BurstFrac: 0xaaaa_aaaa}
	if p := packets(t, "3pps", 2); p != third {
		t.Fatalf("3pps burst 2 = %+v, want %+v", p, third)
	}
	tests := []struct {
		name string
		p    limit.Params
		s    limit.State
		n    uint64
		now  uint64
		want bool
		then limit.State
	}{
		{"idle", third, limit.State{}, 1, 1000, true, limit.State{TAT: 333_334_333, Phase: 0x5555_5555}},
		{"idle at time 0", third, limit.State{}, 1, 0, true, limit.State{TAT: 333_333_333, Phase: 0x5555_5555}},
		{"whole burst", third, limit.State{}, 2, 1000, true, limit.State{TAT: 666_667_666, Phase: 0xaaaa_aaaa}},
		{"beyond burst", third, limit.State{}, 3, 1000, false, limit.State{}},
		{"fraction up to the burst's", third, limit.State{TAT: 333_334_333, Phase: 0x5555_5555}, 1, 1000, true, limit.State{TAT: 666_667_666, Phase: 0xaaaa_aaaa}},
		{"fraction beyond the burst's", third, limit.State{TAT: 333_334_333, Phase: 0x5555_5556}, 1, 1000, false, limit.State{TAT: 333_334_333, Phase: 0x5555_5556}},
		{"fraction carries", third, limit.State{TAT: 2000, Phase: 0xffff_ffff}, 1, 1000, true, limit.State{TAT: 333_335_334, Phase: 0x5555_5554}},
		{"TAT is now", third, limit.State{TAT: 1000, Phase: 7}, 1, 1000, true, limit.State{TAT: 333_334_333, Phase: 0x5555_555c}},
		{"TAT has passed", third, limit.State{TAT: 999, Phase: 7}, 1, 1000, true, limit.State{TAT: 333_334_333, Phase: 0x5555_5555}},
		{"clock went back", third, limit.State{TAT: 5_000_000_000}, 1, 1000, false, limit.State{TAT: 5_000_000_000}},
		{"price overflows", third, limit.State{TAT: 9}, math.MaxUint64, 1000, false, limit.State{TAT: 9}},
		{"price overflows to 0", limit.Params{Cost: 1 << 40, Burst: 1 << 41}, limit.State{TAT: 9}, 1 << 24, 1000, false, limit.State{TAT: 9}},
		{"TAT overflows", third, limit.State{TAT: 9}, 1, math.MaxUint64, false, limit.State{TAT: 9}},
		{"no units", third, limit.State{}, 0, 1000, true, limit.State{TAT: 1000}},
		{"no limit", limit.Params{}, limit.State{TAT: 9, Phase: 8}, math.MaxUint64, 1000, true, limit.State{TAT: 9, Phase: 8}},
		{"only a fraction", limit.Params{CostFrac: 1 << 31, Burst: 1}, limit.State{TAT: 9}, 2, 10, true, limit.State{TAT: 11}},
	}
	for _, tt := range tests {
		s := tt.s
		if fits := tt.p.Fits(s, tt.n, tt.now); fits != tt.want {
			t.Errorf("%s: Fits = %v, want %v", tt.name, fits, tt.want)
		}
		if got := tt.p.Take(&s, tt.n, tt.now); got != tt.want || s != tt.then {
			t.Errorf("%s: Take = %v, %+v; want %v, %+v", tt.name, got, s, tt.want, tt.then)
		}
	}
}

func TestAdopt(t *testing.T) {
	p := limit.Params{Cost: 10, Burst: 100, BurstFrac: 5}
	tests := []struct {
		name    string
		p       limit.Params
		s, want limit.State
		now     uint64
	}{
		{"idle", p, limit.State{}, limit.State{}, 1000},
		{"passed", p, limit.State{TAT: 900, Phase: 3}, limit.State{TAT: 900}, 1000},
		{"within burst", p, limit.State{TAT: 1099, Phase: 3}, limit.State{TAT: 1099}, 1000},
		{"at burst", p, limit.State{TAT: 1100, Phase: 9}, limit.State{TAT: 1100}, 1000},
		{"beyond burst", p, limit.State{TAT: 1101}, limit.State{TAT: 1100}, 1000},
		{"far beyond burst", p, limit.State{TAT: 1 << 62, Phase: 1}, limit.State{TAT: 1100}, 1000},
		{"no overflow", p, limit.State{TAT: math.MaxUint64}, limit.State{TAT: math.MaxUint64}, math.MaxUint64 - 50},
		{"limit removed", limit.Params{}, limit.State{TAT: 5000, Phase: 1}, limit.State{TAT: 1000}, 1000},
	}
	for _, tt := range tests {
		s := tt.s
		tt.p.Adopt(&s, tt.now)
		if s != tt.want {
			t.Errorf("%s: %+v becomes %+v, want %+v", tt.name, tt.s, s, tt.want)
		}
	}
}
