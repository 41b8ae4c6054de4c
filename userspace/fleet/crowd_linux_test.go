package fleet

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/test/redislab"
)

// TestCrowd shows that members that somebody else wrote, however many, cost Redis no more than some are read, and do not
// divide the limits without bound; and that those that do not go on are gone.
func TestCrowd(t *testing.T) {
	const most, all = 2 * mostMembers, 5000
	s := redislab.Start(t)
	a := newMachine(t, newRealConn(t, s.Addr), usual("a"))
	write := func(n int, seen string) {
		for at := 0; at < n; at += 500 {
			args := []string{"HSET", a.keys.members}
			for i := range 500 {
				args = append(args, "false"+strconv.Itoa(at+i), seen+` {"name":"x"}`)
			}
			s.Do(args...)
		}
	}
	write(most-500, strconv.FormatInt(time.Now().UnixMilli(), 10))
	var crowd trouble
	for range 3 {
		if err := a.beat(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.tellCrowd(&crowd)
		if n := len(a.roll.members); n != mostMembers || a.Members() != mostMembers {
			t.Fatalf("%d members were read, %d are counted", n, a.Members())
		}
	}
	if n := a.log.count("more members"); n != 1 {
		t.Errorf("told %d times", n)
	}
	if calls := s.Do("INFO", "commandstats"); strings.Contains(calls, "cmdstat_hgetall") {
		t.Errorf("they were all read: %s", calls)
	}
	write(most-500, "1") // long gone
	for range 3 {
		if err := a.beat(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.Do("HLEN", a.keys.members); n != "1" {
		t.Errorf("%s are left", n)
	}
	if n := len(a.roll.members); n != 1 || a.roll.members[0].Name != "a" {
		t.Errorf("%d members are seen: %+v", n, a.roll.members)
	}
	write(all, strconv.FormatInt(time.Now().UnixMilli(), 10))
	if err := a.beat(t.Context()); err != nil || s.Do("HLEN", a.keys.members) != "1" || a.roll.found != all+1 {
		t.Errorf("error %v, of %d are left %s", err, a.roll.found, s.Do("HLEN", a.keys.members))
	}
}

// TestCrowdOfSeconds shows the same of what a member has published.
func TestCrowdOfSeconds(t *testing.T) {
	s := redislab.Start(t)
	a := newMachine(t, newRealConn(t, s.Addr), usual("a"))
	args := []string{"HSET", a.keys.quota}
	for i := range 1000 {
		args = append(args, fmt.Sprint("x", i), "1")
	}
	s.Do(args...)
	a.set(block("192.0.2.1/32", time.Hour))
	if n := s.Do("HLEN", a.keys.quota); n != "1" {
		t.Errorf("%s are left", n)
	}
	if calls := s.Do("INFO", "commandstats"); strings.Contains(calls, "cmdstat_hdel") {
		t.Errorf("they were all read: %s", calls)
	}
}
