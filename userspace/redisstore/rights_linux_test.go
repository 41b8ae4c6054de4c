package redisstore

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/test/redislab"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/redisconn"
	"github.com/headgate/headgate/userspace/shared"
)

// What Redis does not let the scripts do is its answer, by which its user is known to lack a right, and not what some key has come to.
func TestRights(t *testing.T) {
	s := redislab.Start(t)
	leaky := shared.Charge{Zone: "leaky", Limit: leakyLimit(10, time.Second, 20), Key: "k", N: 1}
	window := shared.Charge{Zone: "window", Limit: shared.Limit{Algorithm: config.Window, Count: 9, Per: time.Hour}, Key: "k", N: 1}
	places := shared.Charge{Zone: "places", Limit: shared.Limit{Algorithm: config.Concurrent, Count: 9}, Key: "k", N: 1}
	for right, charges := range map[string][]shared.Charge{
		"get": {leaky}, "set": {window}, "time": {leaky, window}, "zcount": {places}, "zadd": {places}, "zremrangebyscore": {places},
	} {
		_, store := newLive(t, s.Addr)
		s.Do("ACL", "SETUSER", "default", "-"+right)
		_, err := store.Take("tag", charges, 0)
		if !redisconn.Answered(err) {
			t.Errorf("without %s: %v", right, err)
		}
		s.Do("ACL", "SETUSER", "default", "+"+right)
		if allowed, err := store.Take("tag", charges, 0); !allowed || err != nil {
			t.Errorf("with %s again: %v, %v", right, allowed, err)
		}
	}
	lab, store := newLive(t, s.Addr)
	if _, err := store.Take("tag", []shared.Charge{places}, 0); err != nil {
		t.Fatal(err)
	}
	for right, script := range map[string]script{"zrem": store.scripts.release, "zadd": store.scripts.renew} {
		s.Do("ACL", "SETUSER", "default", "-"+right)
		_, err := lab.Do(redisconn.Call{Script: script.Script, Keys: []string{"k"}, Args: []string{"name", "1"}}, 0)
		if !redisconn.Answered(err) {
			t.Errorf("places without %s: %v", right, err)
		}
		s.Do("ACL", "SETUSER", "default", "+"+right)
	}
}

// Calls that share a run are told so too: not that Redis answers nonsense.
func TestRightsOfARun(t *testing.T) {
	s := redislab.Start(t)
	s.Do("ACL", "SETUSER", "default", "-get")
	conn, err := redisconn.Open(redisconn.Options{Config: config.Redis{Addrs: []string{s.Addr}, Timeout: 10 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	store := New(Options{Conn: conn, Prefix: "hg"})
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			_, err := store.Take("tag", []shared.Charge{{Zone: "z", Limit: leakyLimit(10, time.Second, 20), Key: strconv.Itoa(i), N: 1}}, 0)
			if !redisconn.Answered(err) && !errors.Is(err, redisconn.ErrOpen) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if state := conn.State(); state.Error == "" {
		t.Errorf("%+v", state)
	}
}
