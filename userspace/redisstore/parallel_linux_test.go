package redisstore

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate/headgate/test/redislab"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/shared"
)

// slow are limits of 100 units of which none comes back while a test lasts.
var slow = map[string]shared.Limit{
	"leaky":      {Algorithm: config.Leaky, Count: 1, Per: time.Hour, Burst: 99, Delay: 99},
	"window":     {Algorithm: config.Window, Count: 100, Per: time.Hour},
	"sliding":    {Algorithm: config.Sliding, Count: 100, Per: time.Hour},
	"concurrent": {Algorithm: config.Concurrent, Count: 100},
}

// inParallel calls f so often in 64 goroutines, and returns how often it was true.
func inParallel(calls int, f func(i int) bool) int {
	var passed atomic.Int64
	var all sync.WaitGroup
	for worker := range 64 {
		all.Go(func() {
			for i := worker; i < calls; i += 64 {
				if f(i) {
					passed.Add(1)
				}
			}
		})
	}
	all.Wait()
	return int(passed.Load())
}

// TestCase29ExactlyTheLimit: of parallel requests on three machines exactly as many pass as the limit says.
func TestCase29ExactlyTheLimit(t *testing.T) {
	l, first := newLive(t, server(t))
	machines := []*Store{first, l.store("hg"), l.store("hg")}
	for name, limit := range slow {
		t.Run(name, func(t *testing.T) {
			passed := inParallel(640, func(i int) bool {
				allowed, err := machines[i%3].Take("tag", []shared.Charge{{Zone: name, Limit: limit, Key: "k", N: 1}}, 0)
				if err != nil {
					t.Error(err)
				}
				return allowed
			})
			if passed != 100 {
				t.Errorf("%d passed, want 100", passed)
			}
		})
	}
}

// TestCase20AllOrNone: what a request is refused for by one limit is not charged to another, whoever else asks meanwhile.
func TestCase20AllOrNone(t *testing.T) {
	_, store := newLive(t, server(t))
	narrow := slow["window"]
	narrow.Count = 30
	charges := func(n uint64) []shared.Charge {
		return []shared.Charge{
			{Zone: "wide", Limit: slow["leaky"], Key: "k", N: n}, {Zone: "narrow", Limit: narrow, Key: "k", N: n},
			{Zone: "tried", Limit: slow["sliding"], Key: "k", N: n, DryRun: 1},
		}
	}
	passed := inParallel(640, func(int) bool {
		allowed, err := store.Take("tag", charges(1), 0)
		if err != nil {
			t.Error(err)
		}
		return allowed
	})
	after := charges(0)
	if err := store.Peek("tag", after); err != nil {
		t.Fatal(err)
	}
	if passed != 30 || after[0].Result.Remaining != 70 || after[1].Result.Remaining != 0 || after[2].Result.Remaining != 70 {
		t.Errorf("%d passed, and are left: %+v", passed, after)
	}
}

// TestCase59Cluster: the keys of a call are in one slot, whatever is in them, and calls are spread over the nodes by their tags.
func TestCase59Cluster(t *testing.T) {
	cluster := redislab.StartCluster(t, 3, false)
	_, store := newLive(t, cluster.Addrs()...)
	for _, tag := range []string{"", "a", "b", "c", "}", "{", "{}", "a}{b", "\x00\r\n"} {
		for range 2 {
			var charges []shared.Charge
			for name, limit := range slow {
				for _, key := range []string{"", "k", "{x}", "}{", "{"} {
					charges = append(charges, shared.Charge{Zone: name + "{y}", Limit: limit, Key: key, N: 50})
				}
			}
			allowed, err := store.Take(tag, charges, 0)
			if err != nil || !allowed {
				t.Fatalf("tag %q: %v, %v", tag, allowed, err)
			}
			store.Return(tag, charges[:2])
			if _, err := store.Forget(tag, charges[3].Zone, charges[3].Key, charges[3].Limit); err != nil {
				t.Fatalf("tag %q: %v", tag, err)
			}
		}
	}
	for _, node := range cluster.Masters {
		if node.Count("GET") == 0 {
			t.Errorf("%s was not asked", node.Addr)
		}
	}
}
