package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/test/redislab"
	"github.com/headgate/headgate/userspace/redisconn"
)

// TestRestart shows that a server that begins again with no data takes no rule from any kernel, and gets those of the
// members that are there.
func TestRestart(t *testing.T) {
	s := redislab.Start(t)
	a, b, c := join(t, s)
	c.set(block("192.0.2.3/32", time.Hour))
	a.set(block("192.0.2.1/32", time.Hour))
	b.Share([]Rule{block("192.0.2.2/32", time.Hour)})
	all := "block 192.0.2.1/32, block 192.0.2.2/32, block 192.0.2.3/32"
	for _, m := range []*machine{a, b, c} {
		m.kernel.awaitRules(t, all)
	}
	c.stop()
	s.Restart()
	await(t, "the rules are published again", func() bool { return s.Do("ZCARD", "test:{fleet}:ends") == "2" })
	b.set(block("192.0.2.4/32", time.Hour))
	all += ", block 192.0.2.4/32"
	for _, m := range []*machine{a, b} {
		m.kernel.awaitRules(t, all) // c's too
	}
	d := newMachine(t, newRealConn(t, s.Addr), usual("d")).run()
	d.kernel.awaitRules(t, "block 192.0.2.1/32, block 192.0.2.2/32, block 192.0.2.4/32")
	if had := a.unset("192.0.2.3/32"); len(had) != 1 {
		t.Errorf("c's rule: taken back %v", had)
	}
	b.kernel.awaitRules(t, "block 192.0.2.1/32, block 192.0.2.2/32, block 192.0.2.4/32")
}

// TestCatchUp shows that a machine that was away learns all that it missed, however much, as does one that begins then.
func TestCatchUp(t *testing.T) {
	s := redislab.Start(t)
	a, _, c := join(t, s)
	a.set(block("192.0.2.1/32", time.Hour), block("192.0.2.2/32", 0))
	c.kernel.awaitRules(t, "block 192.0.2.1/32, block 192.0.2.2/32")
	conn := c.conn.(*realConn)
	conn.away.Store(true)
	a.unset("192.0.2.2/32")
	for i := range 13 {
		batch := blocks(i, 70)
		a.set(batch...)
	}
	b := newMachine(t, newRealConn(t, s.Addr), usual("d")).run() // has its own count
	b.Share(blocks(100, 600))
	await(t, "they are published", func() bool { return b.counts.published.Load() == 600 })
	if got := c.kernel.inForce(); got != "block 192.0.2.1/32, block 192.0.2.2/32" {
		t.Errorf("while away: %s", got)
	}
	conn.away.Store(false)
	c.hear(redisconn.Message{Joined: true}) // as after each cut
	late := newMachine(t, newRealConn(t, s.Addr), usual("e")).run()
	for _, m := range []*machine{a, c, late} {
		m.kernel.await(t, "all are in force", func() bool {
			got := m.kernel.inForce()
			return strings.Count(got, "block") == 1+13*70+600 && !strings.Contains(got, "192.0.2.2/32")
		})
	}
}

// TestStopped shows a server that answers nothing for a while: rules stay, Set says that it does not know, and a hand-down
// gets to all when the server goes on.
func TestStopped(t *testing.T) {
	s := redislab.Start(t)
	a, b, c := join(t, s)
	a.set(block("192.0.2.1/32", time.Hour))
	s.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := b.Set(ctx, []Rule{block("192.0.2.2/32", time.Hour)}); err == nil || !strings.Contains(err.Error(), "not known") {
		t.Errorf("Set: %v", err)
	}
	a.Share([]Rule{block("192.0.2.3/32", time.Hour)})
	if got := a.kernel.inForce(); got != "block 192.0.2.1/32" {
		t.Errorf("here: %s", got)
	}
	s.Continue()
	for _, m := range []*machine{a, b, c} {
		m.kernel.await(t, "the hand-down", func() bool { return strings.Contains(m.kernel.inForce(), "block 192.0.2.3/32") })
	}
}

// TestCut shows connections that end again and again.
func TestCut(t *testing.T) {
	s := redislab.Start(t)
	p := redislab.NewProxy(t, s.Addr)
	a := newMachine(t, newRealConn(t, s.Addr), usual("a")).run()
	b := newMachine(t, newRealConn(t, p.Addr), usual("b")).run()
	a.awaitJoined()
	b.awaitJoined()
	var all []string
	for i := range 20 {
		p.Cut()
		a.set(block(fmt.Sprintf("192.0.2.%d/32", 10+i), time.Hour))
		all = append(all, fmt.Sprintf("block 192.0.2.%d/32", 10+i))
	}
	b.kernel.awaitRules(t, strings.Join(all, ", "))
}

// TestGarbage shows that what somebody else wrote to the keys, or said on the channel, takes no rule from any kernel and
// keeps nobody from publishing others.
func TestGarbage(t *testing.T) {
	s := redislab.Start(t)
	a, b, _ := join(t, s)
	a.set(block("192.0.2.200/32", time.Hour))
	all := []string{"block 192.0.2.200/32"}
	const key = "test:{fleet}:"
	forged := func(record string) [][]string {
		return [][]string{
			{"HSET", key + "rules", "p 198.51.100.1/32", record}, {"ZADD", key + "ends", "9999999999999", "p 198.51.100.1/32"},
			{"ZADD", key + "changes", "1", "p 198.51.100.1/32"},
		}
	}
	for i, commands := range [][][]string{
		{{"DEL", key + "rules"}},
		{{"DEL", key + "ends"}},
		{{"DEL", key + "changes"}},
		{{"SET", key + "rules", "x"}},
		{{"DEL", key + "ends"}, {"RPUSH", key + "ends", "x"}},
		{{"SET", key + "gone", "x"}},
		{{"DEL", key + "changes"}, {"HSET", key + "changes", "x", "y"}},
		{{"SET", key + "members", "x"}},
		{{"DEL", key + "members"}, {"HSET", key + "members", "x", "y", "z", "9999999999999 {}", "u", "-1"}},
		{{"SET", key + "published:a", "x"}},
		{{"DEL", key + "published:a"}, {"HSET", key + "published:a", "x", "y", "1", "nan", "99999999999", "5"}},
		{{"HSET", key + "rules", "version", "x"}},
		{{"HSET", key + "rules", "version", "999999999999999999"}},
		{{"HSET", key + "rules", "x", "y"}},
		{{"HDEL", key + "rules", "epoch"}},
		{{"PUBLISH", key + "changed", "\xffnonsense"}, {"PUBLISH", key + "changed", ""}},
		forged("x"),
		forged(`r 99999999999999999999 1 {"v":1,"action":"block","by":"x"}`),
		forged(`r 1 0 {"v":1,"action":"explode","by":"x"}`),
		forged(`r 1 0 {"v":2,"action":"block","by":"x"}`),
		{
			{"HSET", key + "rules", "p 0.0.0.0/0", `r 1 0 {"v":1,"action":"block","by":"x"}`}, {"ZADD", key + "ends", "inf", "p 0.0.0.0/0"},
			{"ZADD", key + "changes", "1", "p 0.0.0.0/0"},
		},
		{
			{"HSET", key + "rules", "p 0.0.0.0/9", `r 1 0 {"v":1,"action":"block","by":"x"}`}, {"ZADD", key + "ends", "inf", "p 0.0.0.0/9"},
			{"ZADD", key + "changes", "9e300", "p 0.0.0.0/9"},
		},
	} {
		text, err := json.Marshal(commands)
		if err != nil {
			t.Fatal(err)
		}
		// At once: what is missing is made anew by members.
		s.Do("EVAL", "for _, c in ipairs(cjson.decode(ARGV[1])) do redis.call(unpack(c)) end return 'done'", "0", string(text))
		rule := fmt.Sprintf("192.0.2.2%s/32", strconv.Itoa(10+i))
		a.set(block(rule, time.Hour))
		all = append(all, "block "+rule)
		ends, gone, slots := s.Do("ZCARD", key+"ends"), s.Do("ZCARD", key+"gone"), s.Do("ZCARD", key+"changes")
		if ends != slots || gone != "0" {
			t.Errorf("after %q: %s rules with an end and %s without, of %s", commands, ends, gone, slots)
		}
		for _, m := range []*machine{a, b} {
			m.kernel.awaitRules(t, strings.Join(all, ", "))
		}
	}
	b.hear(redisconn.Message{Joined: true}) // so that all is read again
	await(t, "it is told of", func() bool { return b.log.count("cannot be read were left out") > 0 })
	if s := a.Status(t.Context()); s.Error != "" {
		t.Errorf("status: %+v", s)
	}
	a.set(block("198.51.100.1/32", time.Hour)) // where there was nonsense
	b.kernel.await(t, "it is in force", func() bool { return strings.Contains(b.kernel.inForce(), "198.51.100.1/32") })
	if got := b.kernel.inForce(); strings.Contains(got, " 0.0.0.0/") {
		t.Errorf("too much is blocked: %s", got)
	}
}

// TestQuotaOfAMinute shows how long the script counts what was published.
func TestQuotaOfAMinute(t *testing.T) {
	s := redislab.Start(t)
	o := usual("a")
	o.Config.MaxPublished = 10
	a := newMachine(t, newRealConn(t, s.Addr), o)
	now, _, _ := strings.Cut(s.Do("TIME"), "\n")
	second, err := strconv.Atoi(now)
	if err != nil {
		t.Fatal(err)
	}
	s.Do("HSET", "test:{fleet}:published:a", strconv.Itoa(second-61), "10", strconv.Itoa(second-30), "4", strconv.Itoa(second-20), "3")
	a.set(blocks(1, 3)...)
	err = a.Set(t.Context(), blocks(2, 6))
	if err == nil || !strings.Contains(err.Error(), "room for 0 now, and for all in 4") { // in 41 s, less what the test takes
		t.Errorf("error %v", err)
	}
	if err = a.Set(t.Context(), blocks(2, 4)); err == nil || !strings.Contains(err.Error(), "for all in 3") {
		t.Errorf("error %v", err)
	}
}
