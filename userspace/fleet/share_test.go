package fleet

import (
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
	"github.com/headgate/headgate/userspace/rate"
)

// TestWithheldIsToldOnceAMinute shows what is said of an agent that hands down more than it may publish.
func TestWithheldIsToldOnceAMinute(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		o := usual("a")
		o.Config.MaxPublished = 10
		a := newMachine(t, r.connect(), o).run()
		synctest.Wait()
		for i := range 150 { // 5 a second
			a.Share(blocks(i, 5))
			time.Sleep(time.Second)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		s := a.Status(t.Context())
		if s.Published != 30 || s.Withheld != 720 || r.version != 30 {
			t.Errorf("published %d, withheld %d, changes %d", s.Published, s.Withheld, r.version)
		}
		var told uint64
		events := a.told(event.FleetWithheld)
		for _, e := range events {
			told += e.Count
		}
		if told != 720 || len(events) > 5 || a.log.count("hand-downs were not published") != len(events) {
			t.Errorf("%d told in %d events", told, len(events))
		}
	})
}

// TestShareWhileAway shows that no more waits for Redis than may be published, each prefix once.
func TestShareWhileAway(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		o := usual("a")
		o.Config.MaxPublished = 10
		c := r.connect()
		a := newMachine(t, c, o).run()
		synctest.Wait()
		c.fail(errors.New("away"))
		for i := range 10 {
			a.Share(blocks(1, 4))
			a.Share(blocks(2, 4))
			a.Share(blocks(3+i, 4))
			time.Sleep(time.Minute)
		}
		a.shared.mu.Lock()
		if got := len(a.shared.items); got > 10 {
			t.Errorf("%d wait", got)
		}
		a.shared.mu.Unlock()
		c.fail(nil)
		time.Sleep(mostWait + 2*beatEvery)
		synctest.Wait()
		if r.version != 10 || r.slots["h 10.1.0.0/32"] == nil || r.slots["h 10.2.0.3/32"] == nil {
			t.Errorf("%d published", r.version)
		}
		if s := a.Status(t.Context()); s.Withheld != 2+36 {
			t.Errorf("%d withheld", s.Withheld)
		}
		if left := a.kernel.left("10.1.0.0/32"); left < 59*time.Minute-20*time.Second {
			t.Errorf("the last hand-down of a prefix does not hold: %v left", left)
		}
	})
}

// TestNeverMoreInAMinute shows that a window admits no more than it may in any minute, whatever is asked, and that it
// keeps what it promises of later.
func TestNeverMoreInAMinute(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(*testing.T) {
			most := rapid.IntRange(1, 20).Draw(rt, "most")
			w := newWindow(most)
			type taken struct {
				at time.Time
				n  int
			}
			var all []taken
			take := func(n int, some bool) (int, time.Duration) {
				fit, wait := w.take(n, some)
				if fit == n || some {
					all = append(all, taken{time.Now(), fit})
				}
				return fit, wait
			}
			for range rapid.IntRange(1, 60).Draw(rt, "times") {
				time.Sleep(time.Duration(rapid.IntRange(0, 20_000).Draw(rt, "ms")) * time.Millisecond)
				n, some := rapid.IntRange(1, 25).Draw(rt, "n"), rapid.Bool().Draw(rt, "some")
				fit, wait := take(n, some)
				switch {
				case fit == n || some:
				case n > most && wait >= 0 || n <= most && (wait <= 0 || wait > 61*time.Second):
					rt.Fatalf("%d of %d fit, all in %v", fit, n, wait)
				case n <= most:
					time.Sleep(wait)
					if fit, _ := take(n, false); fit != n {
						rt.Fatalf("%d of %d fit after %v", fit, n, wait)
					}
				}
			}
			for _, end := range all {
				sum := 0
				for _, t := range all {
					if ago := end.at.Sub(t.at); ago >= 0 && ago < time.Minute {
						sum += t.n
					}
				}
				if sum > most {
					rt.Fatalf("%d in a minute", sum)
				}
			}
		})
	})
}

func TestWindowGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWindow(5)
		w.take(3, false)
		time.Sleep(2 * time.Second)
		w.take(2, false)
		w.giveBack(4)
		if fit, _ := w.take(9, true); fit != 4 {
			t.Errorf("%d fit", fit)
		}
	})
}

// TestSetRefuses shows rules that get neither into Redis nor into kernels.
func TestSetRefuses(t *testing.T) {
	packets := rate.Rate{Count: 10, Per: time.Second, Unit: rate.Packets}
	for _, c := range []struct {
		rule Rule
		want string
	}{
		{Rule{Action: config.Block}, "no prefix"},
		{block("10.0.0.0/7", 0), "not a rule for a fleet: 10.0.0.0/7: it is too much of the internet for a fleet; use prefixes of /8 or longer"},
		{allow("0.0.0.0/0", 0), "too much"},
		{block("2001:db8::/15", 0), "use prefixes of /16 or longer"},
		{block("::ffff:0:0/90", 0), "no prefix"},
		{block("10.0.0.0/8", -1), "hold for -1ns"},
		{Rule{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Action: "drop"}, `"drop" is no action`},
		{Rule{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Action: config.Limit}, "no limit"},
		{Rule{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Action: config.Block, Limit: config.KernelLimit{Rate: packets, Burst: 1}}, "has a limit"},
		{Rule{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Action: config.Limit, Limit: config.KernelLimit{Rate: packets}}, "burst"},
		{Rule{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Action: config.Limit, Limit: config.KernelLimit{Rate: packets, Burst: math.MaxUint64}}, "burst"},
		{Rule{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Action: config.Limit, Limit: config.KernelLimit{
			Rate: rate.Rate{Count: 1, Per: 7 * time.Second, Unit: rate.Packets}, Burst: 1,
		}}, "10.0.0.0/8"},
	} {
		bubble(t, func(t *testing.T, r *fakeRedis) {
			a := newMachine(t, r.connect(), usual("a"))
			err := a.Set(t.Context(), []Rule{block("192.0.2.1/32", 0), c.rule})
			if !errors.Is(err, ErrWrong) || !strings.Contains(err.Error(), c.want) || r.version != 0 {
				t.Errorf("%+v: error %v after %d changes, want %s", c.rule, err, r.version, c.want)
			}
			a.Share([]Rule{c.rule})
			if a.counts.withheld.Load() != 0 || len(a.shared.items) != 0 {
				t.Errorf("%+v was shared", c.rule)
			}
		})
	}
}

// TestShareOnlyHandDowns shows that what the hand-down gives is nobody's rule, and holds no longer than it says.
func TestShareOnlyHandDowns(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		a := newMachine(t, r.connect(), usual("a")).run()
		rule := block("192.0.2.1/32", time.Hour)
		rule.Person, rule.By, rule.Reason = true, "somebody", strings.Repeat("ä", 500)+"\xff"
		a.Share([]Rule{rule, allow("192.0.2.2/32", time.Hour), block("192.0.2.3/32", 0)})
		calm()
		a.kernel.change(func() {
			if len(a.kernel.rules) != 1 {
				t.Fatalf("rules: %v", a.kernel.rules)
			}
			got := a.kernel.rules[0]
			if got.Person || got.By != "a" || got.Reason != strings.Repeat("ä", mostReason/2) || got.For > time.Hour {
				t.Errorf("got %+v", got)
			}
		})
	})
}
