package fleet

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/test/redislab"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
	"github.com/headgate/headgate/userspace/rate"
)

// join starts members a, b and c of a fleet, and waits until each follows.
func join(t *testing.T, s *redislab.Server) (a, b, c *machine) {
	t.Helper()
	all := make([]*machine, 3)
	for i, name := range []string{"a", "b", "c"} {
		all[i] = newMachine(t, newRealConn(t, s.Addr), usual(name)).run()
	}
	for _, m := range all {
		m.awaitJoined()
	}
	return all[0], all[1], all[2]
}

// awaitJoined waits until a member has read all once, and hears messages.
func (m *machine) awaitJoined() {
	m.tb.Helper()
	await(m.tb, "it follows", func() bool { return m.standing.Load().epoch != "" && m.conn.(*realConn).joined.Load() })
}

// TestShare shows that what one machine hands down is in the kernels of the others at once, and no round goes on from it.
func TestShare(t *testing.T) {
	s := redislab.Start(t)
	a, b, c := join(t, s)
	begun := time.Now()
	a.Share([]Rule{block("192.0.2.1/32", time.Hour)})
	for _, m := range []*machine{a, b, c} {
		m.kernel.awaitRules(t, "block 192.0.2.1/32")
	}
	t.Logf("in all kernels after %v", time.Since(begun))
	for _, m := range []*machine{b, c} {
		await(t, "it is told of", func() bool { return len(m.told(event.FleetRule)) == 1 })
		e := m.told(event.FleetRule)
		if e[0].Source.String() != "192.0.2.1/32" || e[0].Name != "a" || e[0].Rule != "block" {
			t.Errorf("events: %+v", e)
		}
		if left := m.kernel.left("192.0.2.1/32"); left > time.Hour+time.Second || left < 59*time.Minute {
			t.Errorf("it holds for %v", left)
		}
		if got := m.conn.(*realConn).called(m.scripts.publish); got != 0 {
			t.Errorf("%d publishes of a member that decided nothing", got)
		}
	}
	if e := a.told(event.FleetRule); len(e) != 0 {
		t.Errorf("events of a's own hand-down: %+v", e)
	}
}

// TestSet shows rules of people: in force here when Set returns, in all kernels soon, and taken back by any member.
func TestSet(t *testing.T) {
	s := redislab.Start(t)
	a, b, c := join(t, s)
	limit := Rule{Prefix: netip.MustParsePrefix("2001:db8::/32"), Action: config.Limit, Limit: config.KernelLimit{
		Rate: rate.Rate{Count: 10, Per: time.Second, Unit: rate.Packets}, Burst: 20,
		Bandwidth: rate.Rate{Count: 12500, Per: time.Second, Unit: rate.Bytes}, BandwidthBurst: 3000,
	}}
	a.set(block("::ffff:192.0.2.77/120", 0), allow("203.0.113.0/24", time.Hour), limit, block("192.0.2.0/24", time.Hour))
	all := "allow 203.0.113.0/24, block 192.0.2.0/24, limit 2001:db8::/32"
	if got := a.kernel.inForce(); got != all {
		t.Errorf("here: %s", got)
	}
	for _, m := range []*machine{b, c} {
		m.kernel.awaitRules(t, all)
	}
	b.kernel.change(func() {
		i := slices.IndexFunc(b.kernel.rules, func(r Rule) bool { return r.Action == config.Limit })
		got := b.kernel.rules[i]
		if want := (Rule{Prefix: limit.Prefix, Action: config.Limit, Limit: limit.Limit, By: "a", Person: true}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
	a.set(block("2001:db8::/32", 0)) // the later one is so
	all = "allow 203.0.113.0/24, block 192.0.2.0/24, block 2001:db8::/32"
	for _, m := range []*machine{a, b, c} {
		m.kernel.awaitRules(t, all)
	}
	had := c.unset("192.0.2.0/24", "198.51.100.0/24", "2001:db8::/32", "192.0.2.0/24")
	if want := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")}; !slices.Equal(had, want) {
		t.Errorf("taken back: %v", had)
	}
	if got := c.kernel.inForce(); got != "allow 203.0.113.0/24" {
		t.Errorf("here: %s", got)
	}
	for _, m := range []*machine{a, b} {
		m.kernel.awaitRules(t, "allow 203.0.113.0/24")
	}
	if had := a.unset("192.0.2.0/24"); had != nil {
		t.Errorf("taken back twice: %v", had)
	}
}

// TestClasses shows which of two rules of a prefix is so.
func TestClasses(t *testing.T) {
	s := redislab.Start(t)
	a, b, _ := join(t, s)
	const p = "192.0.2.1/32"
	a.Share([]Rule{block(p, time.Hour)})
	b.kernel.awaitRules(t, "block "+p)
	b.Share([]Rule{block(p, time.Minute)}) // shortens nothing
	await(t, "it is published", func() bool { return b.conn.(*realConn).called(b.scripts.publish) == 1 })
	b.set(allow(p, time.Hour))
	a.kernel.awaitRules(t, "allow "+p)
	if got := field(s.Do("HGET", "test:{fleet}:rules", "h "+p), "by"); got != "a" {
		t.Errorf("the longer hand-down was of a, and is of %q", got)
	}
	a.Share([]Rule{block(p, 2*time.Hour)}) // does not replace what a person said
	await(t, "it is published", func() bool { return a.counts.published.Load() == 2 })
	a.set(block("192.0.2.2/32", 0))
	if got := a.kernel.inForce(); got != "allow "+p+", block 192.0.2.2/32" {
		t.Errorf("in force: %s", got)
	}
	if had := b.unset(p); len(had) != 1 {
		t.Errorf("taken back: %v", had)
	}
	a.kernel.awaitRules(t, "block 192.0.2.2/32") // both were
}

// field returns a text field of a record.
func field(record, name string) string {
	_, rest, _ := strings.Cut(record, `"`+name+`":"`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// TestStorm shows that rules do not go round, however many come together: each is published once.
func TestStorm(t *testing.T) {
	s := redislab.Start(t)
	a, b, c := join(t, s)
	const each = 1000
	begun := time.Now()
	for i, m := range []*machine{a, b, c} {
		go func() {
			for _, r := range blocks(i, each) {
				m.Share([]Rule{r})
			}
		}()
	}
	for _, m := range []*machine{a, b, c} {
		m.kernel.await(t, "all rules are in force", func() bool { return strings.Count(m.kernel.inForce(), "block") == 3*each })
	}
	t.Logf("%d rules in 3 kernels after %v", 3*each, time.Since(begun))
	for _, m := range []*machine{a, b, c} {
		await(t, "it says so", func() bool {
			st := m.Status(t.Context())
			return st.Published == each && st.Received == 2*each && st.Withheld == 0 && st.Rules == 3*each && st.Spared == 0
		})
		m.kernel.change(func() {
			if m.kernel.calls > 2*each {
				t.Errorf("the kernel was asked %d times", m.kernel.calls)
			}
		})
	}
	if got := s.Do("HGET", "test:{fleet}:rules", "version"); got != strconv.Itoa(3*each) {
		t.Errorf("%s changes of %d rules", got, 3*each)
	}
}

// TestQuota shows that one machine publishes no more than it may, and that an agent that begins anew does not begin
// counting anew.
func TestQuota(t *testing.T) {
	s := redislab.Start(t)
	o := usual("a")
	o.Config.MaxPublished = 10
	a := newMachine(t, newRealConn(t, s.Addr), o).run()
	a.awaitJoined()
	a.Share(blocks(1, 13))
	await(t, "some are published", func() bool { return a.counts.published.Load() == 10 })
	if e := a.told(event.FleetWithheld); len(e) != 1 || e[0].Count != 3 {
		t.Errorf("events: %+v", e)
	}
	if err := a.Set(t.Context(), blocks(2, 1)); !errors.Is(err, ErrTooMany) {
		t.Errorf("a person's: %v", err)
	}
	a.stop()

	again := newMachine(t, newRealConn(t, s.Addr), o).run()
	again.awaitJoined()
	err := again.Set(t.Context(), blocks(3, 4))
	if !errors.Is(err, ErrTooMany) || !strings.Contains(err.Error(), "of these 4 there is room for 0 now, and for all in ") {
		t.Errorf("of an agent that began anew: %v", err)
	}
	again.Share(blocks(4, 5))
	await(t, "they are withheld", func() bool { return again.counts.withheld.Load() == 5 })
	if err := again.Set(t.Context(), blocks(5, 11)); !errors.Is(err, ErrTooMany) || !strings.Contains(err.Error(), "give at most 10 a minute") {
		t.Errorf("more than may ever be: %v", err)
	}
	if got := s.Do("HGET", "test:{fleet}:rules", "version"); got != "10" {
		t.Errorf("%s rules were published", got)
	}
	b := newMachine(t, newRealConn(t, s.Addr), usual("b")).run()
	b.set(blocks(6, 11)...) // another machine has its own count
}

// TestFull shows that the fleet has no more rules than it may, and Set all or none.
func TestFull(t *testing.T) {
	s := redislab.Start(t)
	o := usual("a")
	o.Config.MaxRules = 5
	a := newMachine(t, newRealConn(t, s.Addr), o).run()
	a.set(blocks(1, 3)...)
	if err := a.Set(t.Context(), blocks(2, 3)); !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "room for 2") {
		t.Errorf("error %v", err)
	}
	if got := s.Do("ZCARD", "test:{fleet}:ends"); got != "3" {
		t.Errorf("%s rules, and none of a Set that failed", got)
	}
	a.set(blocks(1, 3)...) // takes no more room
	a.Share(blocks(3, 4))
	await(t, "two are withheld", func() bool { return a.counts.withheld.Load() == 2 })
	if got := s.Do("ZCARD", "test:{fleet}:ends"); got != "5" {
		t.Errorf("%s rules", got)
	}
	a.unset("10.1.0.0/32")
	a.set(blocks(4, 1)...)
	for i := range 20 { // what was taken back is bounded as well
		a.unset(fmt.Sprintf("10.4.0.%d/32", i))
		a.set(blocks(5, 1)...)
		a.unset("10.5.0.0/32")
		a.set(block(fmt.Sprintf("10.4.0.%d/32", i+1), 0))
	}
	if got := s.Do("ZCARD", "test:{fleet}:gone"); got != "5" {
		t.Errorf("%s are remembered as taken back", got)
	}
}

// TestCase47EveryKeyExpires shows that no key is without an end (case 47).
func TestCase47EveryKeyExpires(t *testing.T) {
	s := redislab.Start(t)
	a, b, _ := join(t, s)
	a.set(block("192.0.2.1/32", 0), block("192.0.2.2/32", time.Millisecond))
	b.Share([]Rule{block("192.0.2.3/32", time.Hour)})
	a.kernel.await(t, "b's rule", func() bool { return strings.Contains(a.kernel.inForce(), "192.0.2.3/32") })
	b.unset("192.0.2.1/32")
	all := strings.Fields(s.Do("KEYS", "*"))
	if len(all) != 7 {
		t.Errorf("keys %v", all)
	}
	for _, key := range all {
		if ttl := s.Do("PTTL", key); strings.HasPrefix(ttl, "-") {
			t.Errorf("%s: PTTL %s", key, ttl)
		}
		if !strings.HasPrefix(key, "test:{fleet}:") {
			t.Errorf("key %s", key)
		}
	}
}

// TestCase59Cluster shows that no script needs keys of two slots (case 59), and that messages come through a cluster.
func TestCase59Cluster(t *testing.T) {
	s := redislab.StartCluster(t, 3, false)
	a := newMachine(t, newRealConn(t, s.Addrs()...), usual("a")).run()
	b := newMachine(t, newRealConn(t, s.Addrs()...), usual("b")).run()
	a.awaitJoined()
	b.awaitJoined()
	a.set(block("192.0.2.1/32", time.Hour))
	b.kernel.awaitRules(t, "block 192.0.2.1/32")
}

// TestBoundHere shows that a machine follows no more rules than its fleet may have, whatever somebody writes to Redis.
func TestBoundHere(t *testing.T) {
	s := redislab.Start(t)
	rogue := usual("rogue")
	rogue.Config.MaxPublished = 100
	newMachine(t, newRealConn(t, s.Addr), rogue).run().set(blocks(1, 50)...)
	o := usual("a")
	o.Config.MaxRules = 5
	a := newMachine(t, newRealConn(t, s.Addr), o).run()
	await(t, "as many as may be", func() bool { return len(a.Rules()) == 2*5 })
	if a.log.count("rules=40") != 1 || a.log.count("max_rules: 5") != 1 {
		t.Error("it is not told that 40 were left out")
	}
}
