package redisconn

import (
	"context"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/test/redislab"
	"github.com/headgate/headgate/userspace/config"
)

// TestCluster has one cluster for all: to start one takes seconds.
func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := redislab.StartCluster(t, 3, true)
	for _, key := range []string{"a", "{foo}bar", "{}foo", "foo{", "p:probe:{17}", ""} {
		if want := cluster.Masters[1].Do("CLUSTER", "KEYSLOT", key); strconv.Itoa(int(slot(key))) != want {
			t.Errorf("%q: slot %d, want %s", key, slot(key), want)
		}
	}
	t.Run("subscription", func(t *testing.T) {
		c := config.Redis{Addrs: cluster.Addrs(), Mode: config.RedisCluster}
		subscribeAndLose(t, c, cluster.Masters[0], func() {
			for _, s := range cluster.All() {
				s.Do("CLIENT", "KILL", "TYPE", "pubsub")
			}
		})
	})
	t.Run("slot moves", func(t *testing.T) { moveSlot(t, cluster) })
	t.Run("case 59", func(t *testing.T) { failOver(t, cluster) })
}

// failOver has a master be killed: calls to the others' slots go on, and its replica takes over, which has not got the script.
func failOver(t *testing.T, cluster *redislab.Cluster) {
	k := call(t, config.Redis{Addrs: cluster.Addrs(), Mode: config.RedisCluster, Timeout: 200 * time.Millisecond})
	cluster.Masters[0].Kill()
	k.await(Down)
	if s := k.State(); s.Health != Partly && s.Health != Up {
		t.Errorf("with one of three masters killed: %+v", s)
	}
	k.await(Up)
	if n := cluster.Replicas[0].Count("EVAL"); n == 0 {
		t.Error("the replica did not get the script")
	}
}

// moveSlot has a slot move to another master, to which the old one points.
func moveSlot(t *testing.T, cluster *redislab.Cluster) {
	const key = "{moves}"
	k := call(t, config.Redis{Addrs: cluster.Addrs(), Mode: config.RedisCluster, Timeout: 5 * time.Second})
	count := func(want string) {
		t.Helper()
		got, err := k.Do(Call{Script: counter, Keys: []string{key}}, 0)
		if got != want || err != nil {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
	count("1")
	at := int(slot(key))
	from, to := cluster.Masters[at*3/slots], cluster.Masters[(at*3/slots+1)%3]
	fromID, toID, where := from.Do("CLUSTER", "MYID"), to.Do("CLUSTER", "MYID"), strconv.Itoa(at)
	to.Do("CLUSTER", "SETSLOT", where, "IMPORTING", fromID)
	from.Do("CLUSTER", "SETSLOT", where, "MIGRATING", toID)
	host, port, _ := net.SplitHostPort(to.Addr)
	from.Do("MIGRATE", host, port, key, "0", "5000")
	count("2") // ASK
	to.Do("CLUSTER", "SETSLOT", where, "NODE", toID)
	from.Do("CLUSTER", "SETSLOT", where, "NODE", toID)
	count("3") // MOVED
}

// TestSentinel has the master be killed: the sentinel names another.
func TestSentinel(t *testing.T) {
	t.Parallel()
	g := redislab.StartGroup(t)
	k := call(t, config.Redis{Addrs: []string{g.Sentinel.Addr}, Mode: config.RedisSentinel, Master: g.Name})
	g.Master.Kill()
	k.await(Down)
	k.await(Up)
	if got := g.Replica.Do("ROLE"); !strings.HasPrefix(got, "master") {
		t.Errorf("calls are answered, but not by the replica: %s", got)
	}
}

// TestSubscription has messages of a real server, whose connection is cut, and which is started again.
func TestSubscription(t *testing.T) {
	t.Parallel()
	s := redislab.Start(t)
	p := redislab.NewProxy(t, s.Addr)
	subscribeAndLose(t, config.Redis{Addrs: []string{p.Addr}}, s, p.Cut)
	subscribeAndLose(t, config.Redis{Addrs: []string{s.Addr}}, s, s.Restart)
}

// subscribeAndLose has a message be told before and after the connection is lost.
func subscribeAndLose(t *testing.T, c config.Redis, publish *redislab.Server, lose func()) {
	k := call(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	said := make(chan Message, 16)
	var group sync.WaitGroup
	group.Go(func() { k.Subscribe(ctx, "p:c", func(m Message) { said <- m }) })
	expect := func(want Message) {
		t.Helper()
		select {
		case got := <-said:
			if got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		case <-time.After(patienceOfTests):
			t.Fatalf("not told %+v", want)
		}
	}
	expect(Message{Joined: true})
	publish.Do("PUBLISH", "p:c", "one")
	expect(Message{Text: "one"})
	lose()
	expect(Message{Joined: true})
	publish.Do("PUBLISH", "p:c", "two")
	expect(Message{Text: "two"})
	cancel()
	group.Wait()
}
