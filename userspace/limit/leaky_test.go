package limit_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/rate"
)

const ms = time.Millisecond

func leaky(t testing.TB, text string, burst, delay uint64) limit.Leaky {
	t.Helper()
	l, err := limit.NewLeaky(requests(t, text), burst, delay)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// sharing compiles limits that share states.
func sharing(t testing.TB, specs ...limit.LeakySpec) []limit.Leaky {
	t.Helper()
	limits, err := limit.CompileLeaky(specs)
	if err != nil {
		t.Fatal(err)
	}
	return limits
}

func requests(t testing.TB, text string) rate.Rate {
	t.Helper()
	r, err := rate.ParseRequests(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// same compares what a Result tells, without what Refund needs.
func same(t testing.TB, what string, got, want limit.Result) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(limit.Result{})); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// passing takes single units at one instant until one is refused.
func passing[S any](a limit.Algorithm[S], s *S, now time.Duration) (n uint64) {
	for a.Take(s, 1, now).Allowed {
		n++
	}
	return n
}

func TestLeakyTellsTheState(t *testing.T) {
	l := leaky(t, "10r/s", 5, 2)
	s := l.Fresh(0)
	steps := []struct {
		name string
		n    uint64
		now  time.Duration
		want limit.Result
	}{
		{"peek at idle", 0, 0, limit.Result{Allowed: true, Limit: 6, Remaining: 6}},
		{"first", 1, 0, limit.Result{Allowed: true, Limit: 6, Remaining: 5, NextAfter: 100 * ms, ResetAfter: 100 * ms}},
		{"too many ever", 7, 0, limit.Result{Limit: 6, Remaining: 5, NextAfter: 100 * ms, ResetAfter: 100 * ms, RetryAfter: limit.Never, Excess: 7000}},
		{"two at once", 2, 0, limit.Result{Allowed: true, Limit: 6, Remaining: 3, NextAfter: 100 * ms, ResetAfter: 300 * ms, Excess: 2000}},
		{"beyond the delay", 1, 0, limit.Result{Allowed: true, Limit: 6, Remaining: 2, NextAfter: 100 * ms, ResetAfter: 400 * ms, Delay: 100 * ms, Excess: 3000}},
		{"later", 1, 30 * ms, limit.Result{Allowed: true, Limit: 6, Remaining: 1, NextAfter: 70 * ms, ResetAfter: 470 * ms, Delay: 170 * ms, Excess: 3700}},
		{"one too many", 2, 30 * ms, limit.Result{Limit: 6, Remaining: 1, NextAfter: 70 * ms, ResetAfter: 470 * ms, RetryAfter: 70 * ms, Excess: 5700}},
		{"peek", 0, 30 * ms, limit.Result{Allowed: true, Limit: 6, Remaining: 1, NextAfter: 70 * ms, ResetAfter: 470 * ms, Excess: 3700}},
		{"as told", 2, 100 * ms, limit.Result{Allowed: true, Limit: 6, NextAfter: 100 * ms, ResetAfter: 600 * ms, Delay: 300 * ms, Excess: 5000}},
		{"full", 1, 100 * ms, limit.Result{Limit: 6, NextAfter: 100 * ms, ResetAfter: 600 * ms, RetryAfter: 100 * ms, Excess: 6000}},
		{"a tick too early", 1, 200*ms - 1, limit.Result{Limit: 6, NextAfter: 1, ResetAfter: 500*ms + 1, RetryAfter: 1, Excess: 5001}},
		{"idle again", 0, 700 * ms, limit.Result{Allowed: true, Limit: 6, Remaining: 6}},
	}
	for _, st := range steps {
		same(t, st.name, l.Take(&s, st.n, st.now), st.want)
	}
}

func TestLeakyAtTheEdges(t *testing.T) {
	huge := leaky(t, "1r/s", 1<<31, 1<<31)
	fine := leaky(t, "99999989r/s", 3, 0) // at shift 9
	longest := leaky(t, "100000000r/s", 1<<62/10-1, 0)
	tests := []struct {
		name string
		l    limit.Leaky
		n    uint64
		now  time.Duration
		want limit.Result // of n units more, when as many as the limit were taken
	}{
		{"2^31", huge, 1, 0, limit.Result{Limit: 1<<31 + 1, NextAfter: time.Second, ResetAfter: (1<<31 + 1) * time.Second, RetryAfter: time.Second, Excess: (1<<31 + 1) * 1000}},
		{"2^31 and all again", huge, 1<<31 + 1, 0, limit.Result{Limit: 1<<31 + 1, NextAfter: time.Second, ResetAfter: (1<<31 + 1) * time.Second, RetryAfter: (1<<31 + 1) * time.Second, Excess: (1<<32 + 1) * 1000}},
		{"2^63 units", huge, 1 << 63, 0, limit.Result{Limit: 1<<31 + 1, NextAfter: time.Second, ResetAfter: (1<<31 + 1) * time.Second, RetryAfter: limit.Never, Excess: math.MaxUint64}},
		{"2^64-1 units", fine, math.MaxUint64, -5, limit.Result{Limit: 4, NextAfter: 11, ResetAfter: 41, RetryAfter: limit.Never, Excess: math.MaxUint64}},
		{"most burst", longest, 1, math.MinInt64, limit.Result{Limit: 1 << 62 / 10, NextAfter: 10, ResetAfter: 1 << 62 / 10 * 10, RetryAfter: 10, Excess: math.MaxUint64}},
		{"last moment", fine, 1, math.MaxInt64, limit.Result{Limit: 4, NextAfter: 11, ResetAfter: 41, RetryAfter: 11, Excess: 4000}},
	}
	for _, tt := range tests {
		s := tt.l.Fresh(tt.now)
		whole := tt.want.Limit
		if r := tt.l.Take(&s, whole, tt.now); !r.Allowed || r.Remaining != 0 {
			t.Errorf("%s: %d units: %+v", tt.name, whole, r)
		}
		before := s
		same(t, tt.name, tt.l.Take(&s, tt.n, tt.now), tt.want)
		if s != before {
			t.Errorf("%s: a refusal changed the state", tt.name)
		}
	}
}

func TestLeakyExcessOfHugeNumbers(t *testing.T) {
	l := leaky(t, "1r/s", 100_000_000, 0)
	const debt = 100_000_001_000 // in thousandths
	tests := []struct {
		n, want uint64
	}{
		{1, debt},
		{1 << 53, 1<<53*1000 + debt - 1000},
		{math.MaxUint64 / 1000, math.MaxUint64},
		{math.MaxUint64, math.MaxUint64},
	}
	for _, tt := range tests {
		s := l.Fresh(0)
		l.Take(&s, 100_000_001, 0)
		for _, now := range []time.Duration{0, 1} { // a nanosecond is rounded away
			if r := l.Take(&s, tt.n, now); r.Allowed || r.Excess != tt.want {
				t.Errorf("%d units at %v: %+v, want excess %d", tt.n, now, r, tt.want)
			}
		}
	}
}

func TestLeakyRefund(t *testing.T) {
	l := leaky(t, "1r/s", 5, 5)
	const now = time.Hour
	s := l.Fresh(0)
	first := l.Take(&s, 2, now)
	charged := s
	if peeked := l.Take(&s, 0, now); l.Refund(&s, peeked, now) || s != charged {
		t.Error("a peek was refunded")
	}
	if refused := l.Take(&s, 5, now); l.Refund(&s, refused, now) || s != charged {
		t.Error("a refusal was refunded")
	}
	if l.Refund(&s, limit.Result{}, now) || s != charged {
		t.Error("no result was refunded")
	}
	second := l.Take(&s, 1, now+time.Second)
	if both := s; l.Refund(&s, first, now) || s != both {
		t.Error("refunded though more was charged since")
	}
	if !l.Refund(&s, second, now+time.Minute) || s != charged {
		t.Errorf("the second refund leaves %+v, want %+v", s, charged)
	}
	if l.Refund(&s, second, now) || s != charged {
		t.Error("refunded twice")
	}
	if !l.Refund(&s, first, now) || s != l.Fresh(0) {
		t.Errorf("both refunds leave %+v", s)
	}
}

// A debt made under a large burst is one also under a small one: alone, the
// small limit would take it for a TAT that passed a wrap ago and forgive it.
func TestLeakySharedDebtIsNotForgiven(t *testing.T) {
	slow, fast := requests(t, "1r/s"), requests(t, "99999989r/s")
	limits := sharing(t, limit.LeakySpec{Rate: slow, Burst: 5}, limit.LeakySpec{Rate: slow, Burst: 99}, limit.LeakySpec{Rate: fast, Burst: 9})
	small, large, other := limits[0], limits[1], limits[2]
	s := large.Fresh(0)
	if r := large.Take(&s, 100, 0); !r.Allowed {
		t.Fatalf("the large burst: %+v", r)
	}
	same(t, "small", small.Take(&s, 1, 0), limit.Result{Limit: 6, NextAfter: 95 * time.Second, ResetAfter: 100 * time.Second, RetryAfter: 95 * time.Second, Excess: 100_000})
	if r := other.Take(&s, 1, 0); r.Allowed || r.RetryAfter != 100*time.Second-90 {
		t.Errorf("the other rate: %+v", r)
	}
	if r := small.Take(&s, 1, 95*time.Second); !r.Allowed {
		t.Errorf("after RetryAfter: %+v", r)
	}

	alone := leaky(t, "1r/s", 5, 5)
	forgiven := limit.State{TAT: uint64(100 * time.Second)}
	if r := alone.Take(&forgiven, 1, 0); !r.Allowed {
		t.Error("a limit alone knows of no debt beyond its own burst")
	}
}

func TestLeakyConvert(t *testing.T) {
	slow, fast, fine := leaky(t, "1r/s", 9, 9), leaky(t, "10r/s", 9, 9), leaky(t, "99999989r/s", 9, 9)
	small := leaky(t, "1r/s", 2, 2)
	shared := sharing(t, limit.LeakySpec{Rate: requests(t, "10r/s"), Burst: 9}, limit.LeakySpec{Rate: requests(t, "1r/h"), Burst: 0})
	const now = -time.Hour
	tests := []struct {
		name    string
		was, is limit.Leaky
		taken   uint64
		want    time.Duration // the debt
	}{
		{"as it was", slow, slow, 7, 7 * time.Second},
		{"idle", slow, fast, 0, 0},
		{"slower", fast, slow, 7, 7 * time.Second},
		{"faster", slow, fast, 7, 700 * ms},
		{"a smaller burst", slow, small, 7, 3 * time.Second},
		{"shared with a slower one", slow, shared[0], 7, 700 * ms},
		{"shared with a faster one", slow, shared[1], 7, time.Hour},
		{"finer ticks", slow, fine, 1, 11}, // 10.0000011
		{"coarser ticks", fine, slow, 3, 3 * time.Second},
		{"removed", slow, limit.Leaky{}, 7, 0},
	}
	for _, tt := range tests {
		s := tt.was.Fresh(now)
		tt.was.Take(&s, tt.taken, now)
		s = tt.is.Convert(s, tt.was, now)
		if got := tt.is.Debt(s, now); got != tt.want {
			t.Errorf("%s: debt %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A key that is idle for most of a wrap has no debt: unlike Params.Convert,
// Leaky.Convert knows how large that could have been.
func TestLeakyConvertKnowsWhatHasPassed(t *testing.T) {
	l, slow := leaky(t, "99999989r/s", 9, 9), leaky(t, "1r/s", 9, 9)
	const late = (1<<64 - 1<<61) >> 9
	s := l.Fresh(0)
	if got := slow.Convert(s, l, late); got != slow.Fresh(late) {
		t.Errorf("debt %v", slow.Debt(got, late))
	}
}

func TestCompileLeakyErrors(t *testing.T) {
	slow, fast := requests(t, "1r/h"), requests(t, "99999989r/s")
	tests := []struct {
		specs []limit.LeakySpec
		want  string
	}{
		{[]limit.LeakySpec{{}}, "rate of 0 packets per 0s: a rate of 0 would let nothing pass"},
		{[]limit.LeakySpec{{Rate: slow, Burst: 5, Delay: 6}}, "delay 6 at 1r/h: more than the burst; use at most 5"},
		{[]limit.LeakySpec{{Rate: slow, Burst: 1_281_023}}, "burst 1281023 at 1r/h: too large; use at most 1281022"},
		{[]limit.LeakySpec{{Rate: slow, Burst: math.MaxUint64}}, "burst 18446744073709551615 at 1r/h: too large; use at most 1281022"},
		{[]limit.LeakySpec{{Rate: fast}, {Rate: slow, Burst: 2501}}, "burst 2501 at 1r/h: too large; use at most 2500"}, // at shift 9
	}
	for _, tt := range tests {
		if got, err := limit.CompileLeaky(tt.specs); err == nil || err.Error() != tt.want || got != nil {
			t.Errorf("%+v: %v, %v\nwant error %s", tt.specs, got, err, tt.want)
		}
	}
	if _, err := limit.NewLeaky(slow, 1_281_022, 0); err != nil {
		t.Error(err)
	}
	if got, err := limit.CompileLeaky(nil); len(got) != 0 || err != nil {
		t.Errorf("no specs: %v, %v", got, err)
	}
}
