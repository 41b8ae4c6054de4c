package redisstore

import (
	"testing"
	"time"

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
			if allowed, err := store.Take("http", charges); !allowed || err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("refused here", func(b *testing.B) {
		store := New(Options{Conn: liar(said('0', 1_700_000_000_000_000, 1, 0, 3_600_000_000, 0))})
		b.ReportAllocs()
		for b.Loop() {
			if allowed, err := store.Take("http", refused); allowed || err != nil {
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
			if allowed, err := store.Take("http", charges); !allowed || err != nil {
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

func (g *generous) Do(call redisconn.Call) (string, error) {
	g.calls++
	return said('1', 1_700_000_000_000_000, 0, g.cost.p, 0, number(call.Args[0][11:])), nil
}

func (g *generous) Start(call redisconn.Call, done func(string, error)) { done(g.Do(call)) }
