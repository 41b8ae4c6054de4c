package nginx_test

import (
	"slices"
	"testing"

	"github.com/headgate/headgate/test/vectors"
	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit/nginx"
)

// boot is a time at which the clock of a machine has run for long.
const boot = 100_000_000 // ms

// TestLaterRefusalChargesNothing: a request that a later zone refuses charges no zone, one that
// the first refuses does not even touch the others.
func TestLaterRefusalChargesNothing(t *testing.T) {
	first := newZone(t, "1r/s", nginx.Options[string]{}).Limiter(1, 1)
	second := newZone(t, "1r/m", nginx.Options[string]{})
	uses := []use{{first, "a"}, {second.Limiter(0, 0), "b"}}
	verdicts := []string{"PASSED", "REJECTED", "REJECTED"}
	for i, want := range verdicts {
		if got := locate(uses, ms(boot)).verdict; got != want {
			t.Fatalf("request %d: %s, want %s", i+1, got, want)
		}
	}
	if r := first.Take("a", 1, ms(boot)); !r.Allowed || r.Excess != 1000 {
		t.Errorf("the first zone was charged for what the second refused: %+v", r)
	}
	if o := locate([]use{{first, "a"}, {second.Limiter(0, 0), "new"}}, ms(boot)); o.verdict != "REJECTED" {
		t.Fatalf("%s by the first zone", o.verdict)
	}
	if keys := second.Counters().Keys; keys != 1 {
		t.Errorf("the second zone has %d keys, want 1: it was not asked about the other", keys)
	}
}

// TestRefusedKeyIsKept: a key that is new in an earlier zone is remembered, and charged nothing,
// where a later zone refuses.
func TestRefusedKeyIsKept(t *testing.T) {
	zone := newZone(t, "1r/s", nginx.Options[string]{})
	full := newZone(t, "1r/m", nginx.Options[string]{}).Limiter(0, 0)
	full.Take("b", 1, ms(boot))
	if o := locate([]use{{zone.Limiter(0, 0), "a"}, {full, "b"}}, ms(boot)); o.verdict != "REJECTED" {
		t.Fatal(o.verdict)
	}
	if c := zone.Counters(); c.Keys != 1 || c.Allowed != 0 || c.Refused != 0 {
		t.Errorf("counters %+v, want one key and nothing else", c)
	}
	if r := zone.Limiter(0, 0).Take("a", 1, ms(boot)); !r.Allowed || r.Excess != 0 {
		t.Errorf("%+v", r)
	}
}

// TestFirstMinute: what an earlier zone sees first counts as last used at time 0. So its excess is
// above 0 while the clock is below one request's time, and is not held against the burst.
func TestFirstMinute(t *testing.T) {
	slow := newZone(t, "1r/m", nginx.Options[string]{}).Limiter(0, 0)
	other := newZone(t, "1000r/s", nginx.Options[string]{}).Limiter(10, 10)
	uses := []use{{slow, "a"}, {other, "b"}}
	got := locate(uses, ms(10_000))
	if got.verdict != "DELAYED" || got.delay != ms(52_500) {
		t.Errorf("%s, delayed %v; want 52.5s for an excess of 0.840", got.verdict, got.delay)
	}
	if r := slow.Peek("a", 1, ms(10_000)); r.Excess != 1840 {
		t.Errorf("excess %d, want 1840", r.Excess)
	}
	if got := locate([]use{{other, "c"}, {slow, "c"}}, ms(10_000)); got.verdict != "PASSED" {
		t.Errorf("%s for a new key of the last zone", got.verdict)
	}
}

// TestFirstMinuteAll is the same by keyed.All, which knows which limit is the last.
func TestFirstMinuteAll(t *testing.T) {
	slow := newZone(t, "1r/m", nginx.Options[string]{}).Limiter(0, 0)
	other := newZone(t, "1000r/s", nginx.Options[string]{}).Limiter(10, 10)
	first := []keyed.Charge[string]{{Limiter: slow, Key: "a", N: 1}, {Limiter: other, Key: "b", N: 1}}
	last := []keyed.Charge[string]{{Limiter: other, Key: "c", N: 1}, {Limiter: slow, Key: "c", N: 1}}
	keyed.All(first, ms(10_000))
	keyed.All(last, ms(10_000))
	if e := first[0].Result.Excess; e != 840 {
		t.Errorf("excess %d of a new key of the first zone, want 840", e)
	}
	if e := last[1].Result.Excess; e != 0 {
		t.Errorf("excess %d of a new key of the last zone, want 0", e)
	}
}

// TestReverseOrder: delays and excess are those of the zone that delays most.
func TestReverseOrder(t *testing.T) {
	slow := newZone(t, "1r/s", nginx.Options[string]{}).Limiter(5, 0)
	fast := newZone(t, "10r/s", nginx.Options[string]{}).Limiter(5, 0)
	for _, uses := range [][]use{{{slow, "x"}, {fast, "x"}}, {{fast, "y"}, {slow, "y"}}} {
		var delays []int64
		for range 3 {
			delays = append(delays, locate(uses, ms(boot)).delay.Milliseconds())
		}
		if want := []int64{0, 1000, 2000}; !slices.Equal(delays, want) {
			t.Errorf("delays %v, want %v", delays, want)
		}
	}
}

// TestLastWithoutKey: where the last zone has no key, the others are charged all the same.
func TestLastWithoutKey(t *testing.T) {
	l := newZone(t, "1r/s", nginx.Options[string]{}).Limiter(0, 0)
	uses := []use{{l, "a"}, {l, ""}}
	first, second := locate(uses, ms(boot)), locate(uses, ms(boot))
	if first.verdict != "PASSED" || second.verdict != "REJECTED" {
		t.Errorf("%s, %s", first.verdict, second.verdict)
	}
	if first.lookups[0].RC != vectors.RCAgain {
		t.Errorf("look-up %+v", first.lookups)
	}
	if o := locate([]use{{l, ""}, {l, ""}}, ms(boot)); o.verdict != "" {
		t.Errorf("%q without any key", o.verdict)
	}
}

// TestSameZoneTwice: two keys of one zone in one decision, which nginx has no way to write, where the
// zone has room for one.
func TestSameZoneTwice(t *testing.T) {
	z := newZone(t, "1r/s", nginx.Options[string]{MaxKeys: 1})
	l := z.Limiter(1, 1)
	charges := []keyed.Charge[string]{{Limiter: l, Key: "a", N: 1}, {Limiter: l, Key: "b", N: 1}}
	if !keyed.All(charges, ms(boot)) {
		t.Fatalf("refused: %+v", charges)
	}
	if c := z.Counters(); c.Keys != 1 || c.Allowed != 2 {
		t.Errorf("counters %+v", c)
	}
}
