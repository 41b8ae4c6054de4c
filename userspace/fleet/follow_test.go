package fleet

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
	"github.com/headgate/headgate/userspace/redisconn"
)

// TestRulesEnd shows that rules end when they should, by whatever clock Redis has, and that one comes into force when the
// one that hid it ends.
func TestRulesEnd(t *testing.T) {
	for _, offset := range []time.Duration{0, time.Hour, -time.Hour} {
		bubble(t, func(t *testing.T, r *fakeRedis) {
			r.offset = offset
			a := newMachine(t, r.connect(), usual("a")).run()
			b := newMachine(t, r.connect(), usual("b")).run()
			calm()
			a.Share([]Rule{block("192.0.2.1/32", time.Hour)})
			a.set(allow("192.0.2.1/32", 630*time.Second), block("192.0.2.2/32", 20*time.Minute))
			for _, step := range []struct {
				after time.Duration
				want  string
			}{
				{2 * rest, "allow 192.0.2.1/32, block 192.0.2.2/32"},
				{630*time.Second - 2*time.Millisecond - 2*rest, "allow 192.0.2.1/32, block 192.0.2.2/32"},
				{4 * time.Millisecond, "block 192.0.2.1/32, block 192.0.2.2/32"},
				{10 * time.Minute, "block 192.0.2.1/32"},
				{40 * time.Minute, ""},
			} {
				time.Sleep(step.after)
				synctest.Wait()
				for _, m := range []*machine{a, b} {
					if got := m.kernel.inForce(); got != step.want {
						t.Errorf("clock %v, at %v %s has %q, want %q", offset, time.Since(m.started), m.o.Redis.Name, got, step.want)
					}
				}
			}
			time.Sleep(askEvery + time.Second)
			if s := b.Status(t.Context()); s.Rules != 0 || len(b.follower.view.places) != 0 {
				t.Errorf("what has ended is remembered: %+v", s)
			}
		})
	}
}

// TestAwayKeepsTheRules shows that rules stay in force while Redis does not answer, until their end and no longer; and
// that what could not be published is when it does.
func TestAwayKeepsTheRules(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		a := newMachine(t, r.connect(), usual("a")).run()
		b := newMachine(t, r.connect(), usual("b")).run()
		calm()
		a.set(block("192.0.2.1/32", time.Hour), block("192.0.2.2/32", 0), allow("192.0.2.6/32", 10*time.Minute))
		a.Share([]Rule{block("192.0.2.6/32", 2*time.Hour)})
		calm()
		down := errors.New("connection refused")
		a.conn.(*fakeConn).fail(down)
		b.conn.(*fakeConn).fail(down)
		a.Share([]Rule{block("192.0.2.3/32", 3*time.Hour), block("192.0.2.4/32", time.Minute)})
		if err := a.Set(t.Context(), []Rule{block("192.0.2.5/32", 0)}); !errors.Is(err, down) {
			t.Errorf("Set: %v", err)
		}
		if _, err := a.Unset(t.Context(), []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}); !errors.Is(err, down) {
			t.Errorf("Unset: %v", err)
		}
		time.Sleep(30 * time.Minute)
		if got := b.kernel.inForce(); got != "block 192.0.2.1/32, block 192.0.2.2/32, block 192.0.2.6/32" {
			t.Errorf("after half an hour: %s", got)
		}
		time.Sleep(31 * time.Minute)
		if got := b.kernel.inForce(); got != "block 192.0.2.2/32, block 192.0.2.6/32" {
			t.Errorf("after its end: %s", got)
		}
		a.conn.(*fakeConn).fail(nil)
		b.conn.(*fakeConn).fail(nil)
		time.Sleep(mostWait + 2*beatEvery)
		calm()
		if got := b.kernel.inForce(); got != "block 192.0.2.2/32, block 192.0.2.3/32, block 192.0.2.6/32" {
			t.Errorf("when Redis is back: %s", got)
		}
		if got := a.log.count("cannot be read"); got > 1 {
			t.Errorf("told %d times", got)
		}
	})
}

// TestSpared shows what is not in force here: what protects a prefix is asked when a rule comes, and every minute.
func TestSpared(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		o := usual("b")
		o.Spare = func(p netip.Prefix) string {
			if p == netip.MustParsePrefix("192.0.2.1/32") {
				return "a trusted proxy"
			}
			return ""
		}
		a, b := newMachine(t, r.connect(), usual("a")).run(), newMachine(t, r.connect(), o).run()
		ssh := netip.MustParsePrefix("192.0.2.2/32")
		protect := func(p netip.Prefix) string {
			if p == ssh {
				return "an SSH connection"
			}
			return ""
		}
		b.kernel.change(func() { b.kernel.protected = protect })
		calm()
		a.Share([]Rule{block("192.0.2.1/32", time.Hour)})
		limit := Rule{Prefix: ssh, Action: config.Limit}
		limit.Limit.Rate.Count, limit.Limit.Rate.Per, limit.Limit.Burst = 1, time.Second, 1
		a.set(limit, block("192.0.2.3/32", 0), block("198.51.100.7/32", 0), allow("198.51.100.0/24", 0), allow("192.0.2.4/32", 0))
		calm()
		allowed := "allow 192.0.2.4/32, allow 198.51.100.0/24, block 192.0.2.3/32"
		if got := b.kernel.inForce(); got != allowed {
			t.Errorf("b: %s", got)
		}
		if got := a.kernel.inForce(); got != "allow 192.0.2.4/32, allow 198.51.100.0/24, block 192.0.2.1/32, block 192.0.2.3/32, limit 192.0.2.2/32" {
			t.Errorf("a: %s", got)
		}
		if s := b.Status(t.Context()); s.Spared != 3 || s.Rules != 6 {
			t.Errorf("%d of %d rules spared", s.Spared, s.Rules)
		}
		reasons := map[string]string{}
		for _, e := range b.told(event.FleetSpared) {
			reasons[e.Source.String()] += e.Reason
		}
		if len(reasons) != 3 || reasons["192.0.2.1/32"] != "a trusted proxy" || reasons["192.0.2.2/32"] != "an SSH connection" ||
			reasons["198.51.100.7/32"] != "an allow rule for 198.51.100.0/24 (fleet)" {
			t.Errorf("reasons: %v", reasons)
		}

		b.kernel.change(func() { ssh = netip.MustParsePrefix("192.0.2.3/32") })
		a.unset("198.51.100.0/24")
		calm()
		if got := b.kernel.inForce(); got != "allow 192.0.2.4/32, block 192.0.2.3/32, block 198.51.100.7/32" {
			t.Errorf("without the allow rule: %s", got)
		}
		time.Sleep(askEvery)
		calm()
		if got := b.kernel.inForce(); got != "allow 192.0.2.4/32, block 198.51.100.7/32, limit 192.0.2.2/32" {
			t.Errorf("after a minute: %s", got)
		}
		if got := len(b.told(event.FleetSpared)); got != 4 {
			t.Errorf("%d events", got)
		}
	})
}

// TestKernelFails shows that a kernel that takes no rules gets them when it does, and one that refuses some gets the
// others.
func TestKernelFails(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		a, b := newMachine(t, r.connect(), usual("a")).run(), newMachine(t, r.connect(), usual("b")).run()
		synctest.Wait()
		a.set(blocks(1, 1)...)
		synctest.Wait()
		b.kernel.change(func() { b.kernel.err, b.kernel.calls = errors.New("no kernel"), 0 })
		a.set(blocks(2, 3)...)
		time.Sleep(time.Minute)
		b.kernel.change(func() { b.kernel.askErr = errors.New("no map") })
		time.Sleep(askEvery)
		b.kernel.change(func() { b.kernel.askErr = nil })
		synctest.Wait()
		if calls := b.kernel.calls; calls < 20 || calls > 150 {
			t.Errorf("asked %d times in two minutes", calls)
		}
		if got := b.log.count("the kernel does not have the rules"); got != 1 {
			t.Errorf("told %d times", got)
		}
		b.kernel.change(func() {
			b.kernel.err, b.kernel.calls = nil, 0
			b.kernel.refuses = func(r Rule) bool { return r.Prefix.Addr() == netip.MustParseAddr("10.2.0.1") }
		})
		time.Sleep(mostWait)
		synctest.Wait()
		if got := b.kernel.inForce(); got != "block 10.1.0.0/32, block 10.2.0.0/32, block 10.2.0.2/32" {
			t.Errorf("with one that is refused: %s", got)
		}
		if s := b.Status(t.Context()); s.Spared != 1 || b.log.count("does not take it: no such rule") != 1 {
			t.Errorf("%d spared", s.Spared)
		}
		calls := b.kernel.calls
		a.set(blocks(3, 1)...)
		synctest.Wait()
		if got := b.kernel.inForce(); !strings.Contains(got, "10.3.0.0/32") || b.kernel.calls != calls+1 {
			t.Errorf("after %d calls: %s", b.kernel.calls-calls, got)
		}
		b.kernel.change(func() { b.kernel.refuses = nil })
		time.Sleep(askEvery)
		synctest.Wait()
		if got := b.kernel.inForce(); !strings.Contains(got, "10.2.0.1/32") {
			t.Errorf("when it is refused no more: %s", got)
		}
	})
}

// TestManyRefused shows that a kernel that refuses many gets the others in the end.
func TestManyRefused(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		a, b := newMachine(t, r.connect(), usual("a")).run(), newMachine(t, r.connect(), usual("b")).run()
		b.kernel.change(func() { b.kernel.refuses = func(r Rule) bool { return r.Prefix.Addr().As4()[3]%2 == 1 } })
		synctest.Wait()
		a.set(blocks(1, 200)...)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if got := strings.Count(b.kernel.inForce(), "block"); got != 100 {
			t.Errorf("%d rules in force", got)
		}
	})
}

// TestKept shows that what the kernel has from before an agent began anew stays, as long as the fleet says nothing else,
// though Redis knows nothing of it.
func TestKept(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		first := newMachine(t, r.connect(), usual("b")).run()
		first.set(block("192.0.2.1/32", time.Hour), block("192.0.2.3/32", 0), block("192.0.2.4/32", 0))
		first.stop()
		a := newMachine(t, r.connect(), usual("a")).run()
		a.unset("192.0.2.4/32") // while b is away
		o := usual("b")
		o.Kept = func() ([]Rule, error) {
			return []Rule{
				block("192.0.2.1/32", time.Hour), block("192.0.2.2/32", 30*time.Minute), block("192.0.2.4/32", 0), block("192.0.2.5/32", 0),
			}, nil
		}
		c := r.connect()
		c.fail(errors.New("connection refused"))
		b := newMachine(t, c, o).run()
		time.Sleep(time.Minute)
		if b.kernel.calls != 0 {
			t.Error("the kernel was told something that nobody knew")
		}
		c.fail(nil)
		time.Sleep(mostWait + beatEvery)
		synctest.Wait()
		if got := b.kernel.inForce(); got != "block 192.0.2.1/32, block 192.0.2.2/32, block 192.0.2.3/32, block 192.0.2.5/32" {
			t.Errorf("in force: %s", got)
		}
		if had := b.unset("192.0.2.5/32"); len(had) != 1 {
			t.Errorf("taken back: %v", had)
		}
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if got := b.kernel.inForce(); got != "block 192.0.2.1/32, block 192.0.2.3/32" {
			t.Errorf("half an hour later: %s", got)
		}
		if got := a.kernel.inForce(); got != "block 192.0.2.1/32, block 192.0.2.3/32" {
			t.Errorf("what was kept went to others: %s", got)
		}
	})
}

// TestLost shows what becomes of rules when Redis loses them: all stay, and those of members that are there are
// published again.
func TestLost(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		a, b := newMachine(t, r.connect(), usual("a")).run(), newMachine(t, r.connect(), usual("b")).run()
		away := newMachine(t, r.connect(), usual("away")).run()
		synctest.Wait()
		away.set(block("192.0.2.1/32", time.Hour))
		b.Share([]Rule{block("192.0.2.2/32", time.Hour)})
		a.set(block("192.0.2.3/32", 0), block("192.0.2.4/32", 0), block("192.0.2.5/32", time.Minute))
		a.unset("192.0.2.4/32")
		time.Sleep(time.Minute)
		synctest.Wait()
		away.stop()
		all := "block 192.0.2.1/32, block 192.0.2.2/32, block 192.0.2.3/32"
		want := func(m *machine) {
			t.Helper()
			if got := m.kernel.inForce(); got != all {
				t.Errorf("%s: %s", m.o.Redis.Name, got)
			}
		}
		want(a)
		for _, m := range []*machine{a, b} {
			m.kernel.change(func() {
				m.kernel.watch = func(rules []Rule) {
					if len(rules) < 3 {
						t.Errorf("%s has only %v", m.o.Redis.Name, rules)
					}
				}
			})
		}
		r.lose()
		time.Sleep(3 * beatEvery)
		synctest.Wait()
		want(a)
		want(b)
		c := newMachine(t, r.connect(), usual("c")).run()
		synctest.Wait()
		if got := c.kernel.inForce(); got != "block 192.0.2.2/32, block 192.0.2.3/32" {
			t.Errorf("published again: %s", got)
		}
		if r.count("t") != 1 {
			t.Error("that a rule was taken back is forgotten")
		}
		version := r.version
		time.Sleep(2 * compareEvery)
		synctest.Wait()
		if r.version != version {
			t.Errorf("%d changes more", r.version-version)
		}
		want(b)
		for _, m := range []*machine{a, b} {
			m.kernel.change(func() { m.kernel.watch = nil })
		}
		if had := a.unset("192.0.2.1/32"); len(had) != 1 {
			t.Errorf("taken back: %v", had)
		}
		synctest.Wait()
		all = "block 192.0.2.2/32, block 192.0.2.3/32"
		want(a)
		want(b)
		if got := a.counts.published.Load(); got != 3 {
			t.Errorf("%d published", got)
		}
	})
}

// TestClockGoesBack shows that what is said by a clock that shows less than the one before is so all the same.
func TestClockGoesBack(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		a, b := newMachine(t, r.connect(), usual("a")).run(), newMachine(t, r.connect(), usual("b")).run()
		away := newMachine(t, r.connect(), usual("away")).run()
		calm()
		away.set(block("192.0.2.1/32", 0), block("192.0.2.2/32", 0), block("192.0.2.3/32", 0))
		calm()
		away.stop()
		r.lose()
		r.mu.Lock()
		r.offset = -time.Hour
		r.mu.Unlock()
		time.Sleep(3 * beatEvery)
		calm()
		a.unset("192.0.2.1/32")
		a.set(allow("192.0.2.2/32", 0))
		calm()
		for _, m := range []*machine{a, b} {
			if got := m.kernel.inForce(); got != "allow 192.0.2.2/32, block 192.0.2.3/32" {
				t.Errorf("%s: %s", m.o.Redis.Name, got)
			}
		}
	})
}

// TestRolledBack shows that changes that a failover has lost, and others that took their versions, are found.
func TestRolledBack(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		a, b := newMachine(t, r.connect(), usual("a")).run(), newMachine(t, r.connect(), usual("b")).run()
		synctest.Wait()
		a.set(block("192.0.2.1/32", 0))
		a.set(block("192.0.2.2/32", 0), block("192.0.2.3/32", 0))
		synctest.Wait()
		r.mu.Lock()
		delete(r.slots, "p 192.0.2.2/32")
		delete(r.slots, "p 192.0.2.3/32")
		r.version = 1
		r.mu.Unlock()
		time.Sleep(2 * beatEvery) // the versions are lower than those known
		synctest.Wait()
		if r.version != 3 || r.count("r") != 3 {
			t.Errorf("version %d, %d rules", r.version, r.count("r"))
		}
		r.mu.Lock()
		delete(r.slots, "p 192.0.2.2/32")
		r.mu.Unlock()
		b.hear(redisconn.Message{Joined: true})
		a.hear(redisconn.Message{Joined: true}) // as after each failover
		synctest.Wait()
		if r.count("r") != 3 {
			t.Errorf("%d rules", r.count("r"))
		}
		if got := strings.Count(b.kernel.inForce(), "block"); got != 3 {
			t.Errorf("%d in force", got)
		}
	})
}

// TestFollowNot shows members without a kernel, and such that do not follow.
func TestFollowNot(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		o := usual("a")
		o.Config.Follow = false
		a := newMachine(t, r.connect(), o).run()
		o = usual("b")
		o.Config.HandDown = false
		b := newMachine(t, r.connect(), o).run()
		synctest.Wait()
		a.set(block("192.0.2.1/32", 0))
		a.Share([]Rule{block("192.0.2.2/32", time.Hour)})
		b.Share([]Rule{block("192.0.2.3/32", time.Hour)})
		time.Sleep(2 * askEvery)
		synctest.Wait()
		if a.kernel.calls != 0 {
			t.Error("a follows")
		}
		if got := b.kernel.inForce(); got != "block 192.0.2.1/32, block 192.0.2.2/32" {
			t.Errorf("b: %s", got)
		}
		if s := a.Status(t.Context()); s.Rules != 2 || s.Spared != 0 || s.Members[0].Behind != 0 {
			t.Errorf("status: %+v", s)
		}
	})
}

// TestUnsetLiftsHandDowns shows that a hand-down that is taken back for all is also lifted where it was made, though its kernel
// fails at first, and that what a person has said is nobody's hand-down.
func TestUnsetLiftsHandDowns(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		a, b := newMachine(t, r.connect(), usual("a")).run(), newMachine(t, r.connect(), usual("b")).run()
		o := usual("c")
		o.Config.Follow = false
		c := newMachine(t, r.connect(), o).run()
		synctest.Wait()
		a.Share([]Rule{block("192.0.2.1/32", time.Hour)})
		a.set(block("192.0.2.2/32", time.Hour))
		synctest.Wait()
		a.kernel.change(func() { a.kernel.err = errors.New("locked") })
		b.unset("192.0.2.1/32", "192.0.2.2/32", "192.0.2.3/32")
		synctest.Wait()
		if len(a.kernel.lifted) != 0 {
			t.Errorf("a failing kernel has lifted %s", a.kernel.lifted)
		}
		a.kernel.change(func() { a.kernel.err = nil })
		time.Sleep(mostWait)
		synctest.Wait()
		for _, m := range []*machine{a, b} {
			if got := fmt.Sprint(m.kernel.lifted); got != "[192.0.2.1/32]" || m.kernel.inForce() != "" {
				t.Errorf("%s has lifted %s, in force: %q", m.o.Redis.Name, got, m.kernel.inForce())
			}
		}
		if len(c.kernel.lifted) != 0 {
			t.Error("who does not follow has lifted something")
		}
		a.Share([]Rule{block("192.0.2.1/32", time.Hour)}) // again
		time.Sleep(compareEvery)
		synctest.Wait()
		if len(a.kernel.lifted) != 1 || b.kernel.inForce() != "block 192.0.2.1/32" {
			t.Errorf("lifted %s, in force: %q", a.kernel.lifted, b.kernel.inForce())
		}
	})
}

// TestCoalesce shows that what comes while the kernel is busy is one call, and that nothing is told twice.
func TestCoalesce(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		o := usual("b")
		k := &fakeKernel{}
		o.Kernel = k
		a, b := newMachine(t, r.connect(), usual("a")).run(), newMachine(t, r.connect(), o).run()
		calm()
		k.change(func() { k.busy, k.calls = make(chan struct{}), 0 })
		for i := range 50 {
			a.set(block(fmt.Sprintf("192.0.2.%d/32", i), 0))
			calm()
		}
		close(k.busy)
		calm()
		if got := strings.Count(k.inForce(), "block"); got != 50 || k.calls != 2 {
			t.Errorf("%d rules after %d calls", got, k.calls)
		}
		looked := b.conn.(*fakeConn).called(b.scripts.look)
		if err := b.following.take(t.Context()); err != nil { // it is busy
			t.Fatal(err)
		}
		for range 100 {
			b.hear(redisconn.Message{Text: "\xff nonsense"})
		}
		b.following.giveBack()
		calm()
		if got := b.conn.(*fakeConn).called(b.scripts.look); k.calls != 2 || got > looked+2 {
			t.Errorf("nonsense led to %d calls of the kernel and %d looks", k.calls-2, got-looked)
		}
		if e := b.told(event.FleetRule); len(e) != 2 || e[1].Count != 49 {
			t.Errorf("%d events", len(e))
		}
	})
}
