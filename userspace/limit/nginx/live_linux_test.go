package nginx_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headgate/headgate/test/nginxlab"
	"github.com/headgate/headgate/userspace/limit/nginx"
)

// comparison sends the same requests to nginx and to this package.
type comparison struct {
	tb     testing.TB
	site   *site
	server *nginxlab.Server
	now    time.Duration
	counts map[string]int // of verdicts, and of keys that were forgotten
}

func compare(tb testing.TB, s *site, now time.Duration) *comparison {
	return &comparison{tb, s, s.start(tb, now), now, map[string]int{}}
}

// request sends a request. One that is delayed goes on when it is its time, or its client goes away.
func (c *comparison) request(p place, a, b string, finish bool) {
	c.tb.Helper()
	c.server.SetClock(c.now)
	began := c.now
	want := c.server.Get(p.path + "?a=" + a + "&b=" + b)
	got := p.answer(a, b, c.now)
	nginxes := answer{want.Verdict, want.Status, want.Delay, uint64(want.Freed), want.Lookups}
	if want.Delay > 0 {
		c.end(want, finish, &nginxes)
	}
	if diff := cmp.Diff(nginxes, got, cmp.AllowUnexported(answer{}), cmpopts.EquateEmpty()); diff != "" {
		c.tb.Fatalf("request %d: %s with a=%q and b=%q at %v (-nginx +got):\n%s\n%s%s", c.counts["requests"],
			p.path, a, b, began, diff, c.site.directives.String(), c.site.locations[p.path])
	}
	c.counts["requests"]++
	c.counts[got.verdict]++
	c.counts["forgotten"] += int(got.forgotten)
}

// end ends a delayed request, and fills in what nginx then says of it.
func (c *comparison) end(delayed *nginxlab.Answer, finish bool, a *answer) {
	c.tb.Helper()
	if !finish {
		c.server.Abort(delayed)
		a.verdict, a.status = "DELAYED", http.StatusOK // it never said
		return
	}
	c.server.Finish(delayed, c.now)
	c.now += delayed.Delay
	a.verdict, a.status = delayed.Verdict, delayed.Status
	c.counts["finished"]++
}

// check fails the test unless each of some things happened often enough to have been compared.
func (c *comparison) check(atLeast map[string]int) {
	c.tb.Helper()
	for what, n := range atLeast {
		if c.counts[what] < n {
			c.tb.Errorf("%q happened %d times, which is too little to compare; want %d", what, c.counts[what], n)
		}
	}
	c.tb.Log(c.counts)
}

// pick returns one of some values.
func pick[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }

// jump returns how far the clock moves before the next request: seldom, mostly by little, also back.
func jump(random *rand.Rand) time.Duration {
	switch n := random.IntN(100); {
	case n < 40:
		return 0
	case n < 60:
		return ms(random.Int64N(4))
	case n < 80:
		return ms(random.Int64N(1500))
	case n < 85:
		return -ms(random.Int64N(1500))
	default:
		return ms(pick[int64](random, 8620, 8621, 59_999, 60_000, 60_001, 62_499, 62_500, 3_600_000,
			-59_999, -60_000, -60_001, -3_600_000))
	}
}

// mode returns a burst and a delay.
func mode(random *rand.Rand) func() (burst, delay uint64) {
	return func() (uint64, uint64) {
		burst := pick[uint64](random, 0, 0, 1, 2, 5, 20)
		return burst, pick(random, 0, 0, nginx.NoDelay, nginx.NoDelay, 1+random.Uint64N(burst+1))
	}
}

// TestLive is the differential test: random locations of several limits, whose zones they share, and random
// requests at random times, by nginx and by this package.
func TestLive(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var s site
	for range 10 {
		rate := pick(random, "1r/m", "7r/m", "30r/m", "100r/m", "1r/s", "3r/s", "10", "333r/s", "1000r/s", "3000r/s")
		s.addZone(t, rate, pick(random, "a", "a", "b"), "64k", 300)
	}
	for range 12 {
		zones := random.Perm(len(s.zones))[:1+random.IntN(3)]
		s.addPlace(random.IntN(4) == 0, pick(random, 503, 429), zones, mode(random))
	}
	c := compare(t, &s, ms(boot))
	key := func() string { return pick(random, "", "k0", "k0", "k1", "k1", "k2", fmt.Sprint("k", random.IntN(40))) }
	var p place
	for i := range 3000 {
		if i%10 == 0 {
			p = s.places[random.IntN(len(s.places))]
		}
		c.now = max(c.now+jump(random), ms(1))
		c.request(p, key(), key(), random.IntN(4) == 0)
	}
	c.check(map[string]int{"": 10, "PASSED": 200, "REJECTED": 100, "REJECTED_DRY_RUN": 30, "DELAYED": 50,
		"DELAYED_DRY_RUN": 5, "finished": 10, "forgotten": 50})
}

// TestLiveEviction is the same for zones that are full. How many keys fit is measured.
func TestLiveEviction(t *testing.T) {
	const key = "%05d" // all of one length, since nginx's memory has classes of size
	room := measureRoom(t, key)
	random := rand.New(rand.NewPCG(3, 4))
	var s site
	s.addZone(t, "1r/m", "a", "32k", room)
	s.addZone(t, "30r/m", "b", "32k", room)
	s.addPlace(false, 503, []int{0}, mode(random))
	s.addPlace(false, 503, []int{0, 1}, mode(random))
	s.addPlace(false, 503, []int{1, 0}, func() (uint64, uint64) { return 3, 1 })
	c := compare(t, &s, ms(boot))
	for range 1200 {
		if random.IntN(60) == 0 {
			c.now += jump(random)
		}
		a, b := random.IntN(room*5/4), random.IntN(room*5/4)
		c.request(pick(random, s.places...), fmt.Sprintf(key, a), fmt.Sprintf(key, b), false)
	}
	c.check(map[string]int{"PASSED": 200, "REJECTED": 50, "DELAYED": 10, "forgotten": 200})
	one, two := s.zones[0].zone.Counters(), s.zones[1].zone.Counters()
	if one.EvictedLive == 0 || two.EvictedDrained == 0 {
		t.Errorf("%+v, %+v; want keys forgotten that owed something, and such that did not", one, two)
	}
}

// measureRoom returns how many keys a zone of 32k holds.
func measureRoom(t *testing.T, key string) int {
	var s site
	s.addZone(t, "1r/s", "a", "32k", 1)
	s.addPlace(false, 503, []int{0}, func() (uint64, uint64) { return 0, 0 })
	server := s.start(t, ms(boot))
	for n := range 1000 {
		if server.Get(s.places[0].path+"?a="+fmt.Sprintf(key, n)).Freed > 0 {
			t.Logf("a zone of 32k holds %d keys", n)
			return n
		}
	}
	t.Fatal("a zone of 32k holds a thousand keys")
	return 0
}

// TestLiveDryRun is limit_req_dry_run.t: what would be delayed or refused passes, and is said.
func TestLiveDryRun(t *testing.T) {
	var s site
	s.addZone(t, "1r/m", "a", "32k", 100)
	for _, dryRun := range []bool{true, false} {
		s.addPlace(dryRun, 503, []int{0}, func() (uint64, uint64) { return 2, 0 })
		s.addPlace(dryRun, 503, []int{0}, func() (uint64, uint64) { return 0, 0 })
	}
	c := compare(t, &s, ms(boot))
	for _, step := range []struct {
		place, verdict string
	}{
		{"/l0", "PASSED"}, {"/l0", "DELAYED_DRY_RUN"}, {"/l1", "REJECTED_DRY_RUN"}, {"/l3", "REJECTED"},
		{"/l0", "DELAYED_DRY_RUN"}, {"/l0", "REJECTED_DRY_RUN"}, {"/l2", "REJECTED"},
	} {
		var p place
		for _, q := range s.places {
			if q.path == step.place {
				p = q
			}
		}
		before := c.counts[step.verdict]
		if c.request(p, "k", "", false); c.counts[step.verdict] != before+1 {
			t.Errorf("%s: not %s", step.place, step.verdict)
		}
	}
}

// TestLiveFirstMinute: nginx on a machine that was started ten seconds ago.
func TestLiveFirstMinute(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	var s site
	s.addZone(t, "1r/m", "a", "32k", 100)
	s.addZone(t, "7r/m", "b", "32k", 100)
	for _, zones := range [][]int{{0, 1}, {1, 0}, {0}, {1}} {
		s.addPlace(false, 503, zones, func() (uint64, uint64) { return 0, 0 })
		s.addPlace(false, 503, zones, func() (uint64, uint64) { return 1, nginx.NoDelay })
	}
	c := compare(t, &s, ms(1))
	for range 200 {
		c.now += ms(random.Int64N(500))
		c.request(pick(random, s.places...), fmt.Sprint("k", random.IntN(60)), pick(random, "", "k0", "k1"), false)
	}
	c.check(map[string]int{"PASSED": 20, "REJECTED": 20, "DELAYED": 5})
}
