package redisstore

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/test/redislab"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/redisconn"
	"github.com/headgate/headgate/userspace/shared"
)

// idle is a Conn that answers at once that a leaky key is idle.
var idle = liar(said('1', 1_700_000_000_000_000, 0, 100_000, 0, 0))

// BenchmarkTake is what this package costs a decision, without Redis.
func BenchmarkTake(b *testing.B) {
	charges := []shared.Charge{{Zone: "per-ip", Limit: leakyLimit(10, time.Second, 20), Key: "192.0.2.1", N: 1}}
	refused := []shared.Charge{{Zone: "per-ip", Limit: shared.Limit{Algorithm: config.Window, Count: 1, Per: time.Hour}, Key: "192.0.2.1", N: 1}}
	b.Run("asked", func(b *testing.B) {
		store := New(Options{Conn: idle})
		b.ReportAllocs()
		for b.Loop() {
			if allowed, err := store.Take("http", charges, 0); !allowed || err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("refused here", func(b *testing.B) {
		store := New(Options{Conn: liar(said('0', 1_700_000_000_000_000, 1, 0, 3_600_000_000, 0))})
		b.ReportAllocs()
		for b.Loop() {
			if allowed, err := store.Take("http", refused, 0); allowed || err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("from a batch", func(b *testing.B) {
		conn := &generous{}
		store := New(Options{Conn: conn})
		charges := append([]shared.Charge(nil), charges...)
		charges[0].Limit.Burst, charges[0].Limit.Count, charges[0].Batch = 1<<20, 1<<20, 1000
		conn.cost, _ = termsOf(charges[0].Limit)
		b.ReportAllocs()
		for b.Loop() {
			if allowed, err := store.Take("http", charges, 0); !allowed || err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(conn.calls)/float64(b.N), "calls/op")
	})
}

// generous is a Conn to a store of which each key is idle, and that gives as much more as is wanted.
type generous struct {
	cost  terms
	calls int
}

func (g *generous) Do(call redisconn.Call, _ time.Duration) (string, error) {
	g.calls++
	return said('1', 1_700_000_000_000_000, 0, g.cost.p, 0, number(call.Args[0][11:])), nil
}

func (g *generous) Start(call redisconn.Call, done func(string, error)) { done(g.Do(call, 0)) }

// BenchmarkScript is what decisions cost Redis, in pipelines of 64: the µs that Redis says a script takes, and all in all. It needs none of the
// client's time but what it takes to send them.
func BenchmarkScript(b *testing.B) {
	empty := script{source: "return ''"}
	var both, all []shared.Charge
	for _, name := range []string{"leaky", "window", "sliding", "concurrent"} {
		c := shared.Charge{Zone: name, Limit: slow[name], Key: "192.0.2.1", N: 1}
		if name != "concurrent" {
			c.Limit.Count, c.Limit.Per, c.Limit.Burst = 1_000_000, time.Second, 1_000_000
		}
		if all = append(all, c); len(all) <= 2 {
			both = append(both, c)
		}
	}
	run := func(name string, charges []shared.Charge, other *script) {
		b.Run(name, func(b *testing.B) {
			redis := redislab.Start(b)
			l, store := newLive(b, redis.Addr)
			call, source := l.call(store, charges)
			if other != nil {
				source = other.source
			}
			sha := l.client.ScriptLoad(b.Context(), source).Val()
			redis.Do("CONFIG", "RESETSTAT")
			b.ResetTimer()
			for done := 0; done < b.N; done += 64 {
				pipe := l.client.Pipeline()
				for range min(64, b.N-done) {
					pipe.EvalSha(b.Context(), sha, call.Keys, call.Args[0], call.Args[1])
				}
				if _, err := pipe.Exec(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			_, stat, _ := strings.Cut(redis.Do("INFO", "commandstats"), "cmdstat_evalsha:")
			_, stat, _ = strings.Cut(stat, "usec_per_call=")
			stat, _, _ = strings.Cut(stat, ",")
			used, err := strconv.ParseFloat(stat, 64)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(used, "µs-in-redis/op")
		})
	}
	run("nothing", all[:1], &empty)
	run("leaky", all[:1], nil)
	run("window", all[1:2], nil)
	run("sliding", all[2:3], nil)
	run("leaky and window", both, nil)
	refused := append([]shared.Charge(nil), all[1:2]...)
	refused[0].Limit.Count, refused[0].N = 1, 2
	run("refused", refused, nil)
}

// call returns what the store asks for charges, and the script.
func (l *lab) call(s *Store, charges []shared.Charge) (redisconn.Call, string) {
	a := s.begin()
	if err := a.prepare(s, "tag", charges); err != nil {
		l.tb.Fatal(err)
	}
	call := a.call(&s.scripts, charging, "lease")
	for _, script := range []script{s.scripts.one, s.scripts.take} {
		if script.Script == call.Script {
			return call, script.source
		}
	}
	l.tb.Fatal("another script")
	return call, ""
}
