package fleet

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/userspace/redisconn"
)

// TestFloodOfTheChannel shows that whoever fills the channel does not have Redis asked without a pause, and that a change
// that comes alone is not held up.
func TestFloodOfTheChannel(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		c := r.connect()
		b := newMachine(t, c, usual("b")).run()
		calm()
		before := c.called(b.scripts.look)
		b.hear(redisconn.Message{Text: "alone"})
		synctest.Wait()
		if got := c.called(b.scripts.look) - before; got != 1 {
			t.Errorf("%d looks at once for what came alone", got)
		}
		before = c.called(b.scripts.look)
		for range 10_000 {
			time.Sleep(100 * time.Microsecond)
			b.hear(redisconn.Message{Text: "x"})
			synctest.Wait()
		}
		if got := c.called(b.scripts.look) - before; got > int(time.Second/rest) {
			t.Errorf("%d looks in a second of 10000 messages", got)
		}
		a := newMachine(t, r.connect(), usual("a")).run()
		a.set(block("192.0.2.1/32", time.Hour))
		calm()
		if got := b.kernel.inForce(); got != "block 192.0.2.1/32" {
			t.Errorf("after the flood: %q", got)
		}
	})
}

// TestImpatient shows that Set and Unset wait for a busy follower no longer than they may.
func TestImpatient(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		a := newMachine(t, r.connect(), usual("a"))
		if err := a.following.take(t.Context()); err != nil { // it is busy
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := a.Set(ctx, []Rule{block("192.0.2.1/32", 0)}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Set: %v", err)
		}
		if _, err := a.Unset(ctx, []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Unset: %v", err)
		}
		if took := time.Since(began); took != time.Second || r.version != 0 {
			t.Errorf("it took %v, and %d changes were published", took, r.version)
		}
		a.following.giveBack()
		a.set(block("192.0.2.1/32", 0))
	})
}
