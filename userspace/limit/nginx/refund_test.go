package nginx_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/limit/nginx"
)

// TestCase39Refund: a refund leaves a key as if there had been no charge, or does nothing.
func TestCase39Refund(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var limiters [2]*nginx.Limiter[string]
		rate := drawRate(t)
		for i := range limiters {
			z, err := nginx.NewZone(rate, nginx.Options[string]{})
			if err != nil {
				t.Fatal(err)
			}
			limiters[i] = z.Limiter(4, 1)
		}
		with, without := limiters[0], limiters[1]
		now := ms(rapid.SampledFrom([]int64{0, boot}).Draw(t, "start"))
		for range rapid.IntRange(0, 10).Draw(t, "charges before") {
			now += ms(step(t))
			with.Take("k", 1, now)
			without.Take("k", 1, now)
		}
		now += ms(step(t))
		n := rapid.Uint64Range(0, 5).Draw(t, "n")
		r := with.Take("k", n, now)
		now += ms(step(t))
		if done := with.Refund("k", r, now); done != (r.Allowed && n > 0) {
			t.Fatalf("refund of %d units: %v (%+v)", n, done, r)
		}
		if with.Refund("k", r, now) {
			t.Fatal("refunded twice")
		}
		for range 10 {
			now += ms(step(t))
			a, b := with.Take("k", 1, now), without.Take("k", 1, now)
			if withoutUndo(a) != withoutUndo(b) {
				t.Fatalf("with charge and refund %+v, without %+v", a, b)
			}
		}
	})
}

// TestRefundOnlyTheLatest: what came after a charge was decided by it, so it stays.
func TestRefundOnlyTheLatest(t *testing.T) {
	l := newZone(t, "1r/s", nginx.Options[string]{}).Limiter(5, 5)
	first := l.Take("k", 1, ms(boot))
	second := l.Take("k", 1, ms(boot))
	l.Take("other", 1, ms(boot))
	if l.Refund("k", first, ms(boot)) {
		t.Error("refunded the first of two")
	}
	if l.Refund("other", second, ms(boot)) {
		t.Error("refunded to another key")
	}
	if !l.Refund("k", second, ms(boot)) {
		t.Error("did not refund the second")
	}
	if again := l.Take("k", 1, ms(boot)); again.Excess != second.Excess {
		t.Errorf("excess %d, want %d", again.Excess, second.Excess)
	}
	if l.Refund("k", second, ms(boot)) {
		t.Error("refunded twice, the second time another's charge")
	}
}

// TestRefundOfNewKey: a key that was new is forgotten, one that was only asked about is not.
func TestRefundOfNewKey(t *testing.T) {
	for _, now := range []time.Duration{0, 10 * time.Second, 1000 * 24 * time.Hour} {
		z := newZone(t, "1r/m", nginx.Options[string]{})
		l := z.Limiter(0, 0)
		if r := l.Take("k", 1, now); !l.Refund("k", r, now) || z.Counters().Keys != 0 {
			t.Errorf("at %v: the key is still there", now)
		}
		p := l.Place("k")
		l.Ask("k", p, 1, now)
		before := l.Look("k", p, 1, now)
		if r := l.Charge("k", p, 1, now); !l.Refund("k", r, now) {
			t.Errorf("at %v: not refunded", now)
		}
		if after := l.Look("k", p, 1, now); after != before {
			t.Errorf("at %v: %+v, before %+v", now, after, before)
		}
	}
}

// TestRefundAfterLong: a key that was idle for longer than an undo can tell is not refunded.
func TestRefundAfterLong(t *testing.T) {
	for _, test := range []struct {
		idle time.Duration
		want bool
	}{{24 * 24 * time.Hour, true}, {25 * 24 * time.Hour, false}, {-24 * 24 * time.Hour, true}, {-25 * 24 * time.Hour, false}} {
		l := newZone(t, "1r/s", nginx.Options[string]{}).Limiter(1, 1)
		l.Take("k", 1, ms(boot))
		now := ms(boot) + test.idle
		if got := l.Refund("k", l.Take("k", 1, now), now); got != test.want {
			t.Errorf("after %v: %v, want %v", test.idle, got, test.want)
		}
	}
}

// TestRefundNothing: what charged nothing is not refunded.
func TestRefundNothing(t *testing.T) {
	z := newZone(t, "1r/s", nginx.Options[string]{})
	l := z.Limiter(0, 0)
	l.Take("k", 1, ms(boot))
	for name, r := range map[string]limit.Result{
		"no units": l.Take("k", 0, ms(boot)), "refused": l.Take("k", 1, ms(boot)), "zero": {},
		"foreign": limit.Result{Allowed: true}.WithUndo(1, 1<<63),
	} {
		if l.Refund("k", r, ms(boot)) {
			t.Errorf("%s: refunded", name)
		}
	}
	if c := z.Counters(); c != (keyed.Counters{Keys: 1, Allowed: 2, Refused: 1}) {
		t.Errorf("counters %+v", c)
	}
}
