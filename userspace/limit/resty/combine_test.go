package resty_test

import (
	"slices"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit/resty"
)

// charges are those of the original's tests: two requests a second for bar, and so on.
func charges(t *testing.T, limit int64) []resty.Charge {
	return []resty.Charge{
		{Limiter: newReq(t, 3, 2), Key: "foo"},
		{Limiter: newReq(t, 2, 3), Key: "bar"},
		{Limiter: newConn(t, 4, 1, 2*second), Key: "foo"},
		{Limiter: newCount(t, limit, 100*second), Key: "bar"},
	}
}

// states are the second return values of the originals.
func states(all []resty.Charge) (s []float64) {
	for _, c := range all {
		s = append(s, c.Result.Excess+float64(c.Result.Conn+c.Result.Remaining))
	}
	return s
}

func passed(delay time.Duration) resty.Combined { return resty.Combined{By: -1, Delay: delay} }

func rejectedBy(i int) resty.Combined { return resty.Combined{Rejected: true, By: i} }

func checkCombine(t *testing.T, all []resty.Charge, now time.Duration, want resty.Combined, wantStates ...float64) {
	t.Helper()
	if got := resty.Combine(all, now); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := states(all); !slices.Equal(got, wantStates) {
		t.Errorf("states %v, want %v", got, wantStates)
	}
}

func TestCombineVectors(t *testing.T) {
	all := charges(t, 10)
	checkCombine(t, all, 0, passed(0), 0, 0, 1, 9)
	checkCombine(t, all, 0, passed(500*ms), 1, 1, 2, 8)
	checkCombine(t, all, 0, passed(second), 2, 2, 3, 7)
	checkCombine(t, all, 0, rejectedBy(0), 2, 2, 3, 7)
	checkCombine(t, all, second, passed(500*ms), 0, 1, 4, 6)
	checkCombine(t, all, second, passed(2*second), 1, 2, 5, 5)
}

func TestCombineRejectedByTheLast(t *testing.T) {
	all := charges(t, 2)
	checkCombine(t, all, 0, passed(0), 0, 0, 1, 1)
	checkCombine(t, all, 0, passed(500*ms), 1, 1, 2, 0)
	for range 4 {
		checkCombine(t, all, 0, rejectedBy(3), 1, 1, 2, 0)
	}
	// None was charged: one request taken back is enough for another.
	uncommit(t, all[3].Limiter, "bar", 0, remaining(1))
	checkCombine(t, all, 0, passed(second), 2, 2, 3, 0)
	for i, want := range []uint64{3, 3, 3, 3} {
		c := all[i].Limiter.(interface{ Counters() keyed.Counters }).Counters()
		if c.Allowed != want || c.Refused != uint64(i/3*4) {
			t.Errorf("limiter %d counted %+v", i, c)
		}
	}
}

// mock is the limiter of the original's tests, which may reject what it counted.
type mock struct {
	count  int64
	reject bool
}

func (m *mock) Incoming(_ string, commit bool, _ time.Duration) resty.Result {
	if commit {
		m.count++
		if m.reject {
			return resty.Result{Rejected: true}
		}
		return resty.Result{Conn: m.count}
	}
	return resty.Result{Conn: m.count + 1}
}

func (m *mock) Uncommit(string, time.Duration) (resty.Result, error) {
	m.count = max(m.count-1, 0)
	return resty.Result{Conn: m.count}, nil
}

func TestCombineTakesBackWhatMocksCounted(t *testing.T) {
	for rejecter, want := range map[int][]int64{1: {1, 2, 1, 1}, 2: {1, 1, 2, 1}} {
		var all []resty.Charge
		for i := range 4 {
			all = append(all, resty.Charge{Limiter: &mock{reject: i == rejecter}})
		}
		if got := resty.Combine(all, 0); got != rejectedBy(rejecter) {
			t.Errorf("%+v, want rejected by %d", got, rejecter)
		}
		for i, c := range all {
			if got := c.Limiter.Incoming("", false, 0).Conn; got != want[i] {
				t.Errorf("rejected by %d: mock %d would have %d, want %d", rejecter, i, got, want[i])
			}
		}
	}
}

// What this package's limiters charged before another's rejected is as it was, to the ms: also where the
// original's uncommit is not exact, of a key that was behind its rate, and of one that was not known.
func TestCombineRestoresExactly(t *testing.T) {
	r, c, n := newReq(t, 1, 1), newConn(t, 1, 1, second), newCount(t, 3, second)
	r.Incoming("a", true, 0)
	r.Incoming("a", true, 0)
	n.Incoming("a", true, 0)
	all := []resty.Charge{
		{Limiter: r, Key: "a"}, {Limiter: r, Key: "new"}, {Limiter: c, Key: "a"}, {Limiter: n, Key: "a"},
		{Limiter: &mock{reject: true}},
	}
	checkCombine(t, all, 900*ms+second, rejectedBy(4), 0, 0, 0, 0, 0)
	checkIncoming(t, r, "a", false, second+100*ms, excess(900*ms, .9)) // .1 from 900*ms on, had it been uncommitted
	checkIncoming(t, c, "a", false, 0, conn(0, 1))
	checkIncoming(t, n, "a", false, 999*ms, remaining(1))
	if _, err := r.Uncommit("new", 0); err == nil || r.Counters().Keys != 1 || c.Counters().Keys != 0 {
		t.Errorf("new keys stayed: %v, %+v, %+v", err, r.Counters(), c.Counters())
	}
}

// A key may be charged twice, if there is room for both.
func TestCombineOneKeyTwice(t *testing.T) {
	c := newCount(t, 3, second)
	twice := []resty.Charge{{Limiter: c, Key: "a"}, {Limiter: c, Key: "a"}}
	checkCombine(t, twice, 0, passed(0), 2, 1)
	checkCombine(t, twice, 0, rejectedBy(1), 2, 1)
	incoming(t, c, "a", 0, remaining(0))
}

func TestCombineNothing(t *testing.T) {
	if got := resty.Combine(nil, 0); got != passed(0) {
		t.Errorf("%+v", got)
	}
	checkCombine(t, []resty.Charge{{}}, 0, passed(0), 0)
}
