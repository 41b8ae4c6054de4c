package fleet

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/userspace/event"
)

// TestUnsetIsTold shows that each machine where a rule was in force tells who took it back, and that a rule which ends or is
// replaced is not told to be.
func TestUnsetIsTold(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		a := newMachine(t, r.connect(), usual("a")).run()
		b := newMachine(t, r.connect(), usual("b")).run()
		calm()
		a.Share([]Rule{block("192.0.2.1/32", time.Hour)})
		a.set(block("192.0.2.1/32", time.Hour), block("192.0.2.2/32", time.Minute), block("192.0.2.3/32", 0), block("192.0.2.4/32", 0))
		calm()
		a.set(allow("192.0.2.4/32", 0))
		a.unset("192.0.2.1/32", "192.0.2.3/32", "192.0.2.9/32")
		time.Sleep(2 * time.Minute)
		calm()
		for _, m := range []*machine{a, b} {
			var got []string
			for _, e := range m.told(event.FleetUnset) {
				got = append(got, fmt.Sprintf("%s %s by %s for %v", e.Rule, e.Source, e.Name, e.For))
			}
			slices.Sort(got)
			want := []string{"block 192.0.2.1/32 by a for 0", "block 192.0.2.3/32 by a for 0"}
			if !slices.Equal(got, want) || m.log.count("rules of the fleet were taken back") != 2 {
				t.Errorf("%s told %q, want %q", m.o.Redis.Name, got, want)
			}
		}
	})
}

// TestTimesAreRounded shows that how long a rule holds is told as people read it, and of one without an end nothing.
func TestTimesAreRounded(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		b := newMachine(t, r.connect(), usual("b")).run()
		synctest.Wait()
		b.set(block("192.0.2.1/32", time.Hour-8*time.Millisecond), block("192.0.2.2/32", 0), block("192.0.2.3/32", 1500*time.Microsecond+500*time.Millisecond))
		if b.log.count("for=1h0m0s") != 1 || b.log.count("for=") != 2 || b.log.count("for=50") != 1 {
			t.Errorf("%s", b.log.b.String())
		}
		for _, e := range b.told(event.FleetRule) {
			if want := map[string]float64{"192.0.2.1/32": 3600, "192.0.2.2/32": 0, "192.0.2.3/32": e.For}[e.Source.String()]; e.For != want || e.For*1000 != float64(int(e.For*1000)) {
				t.Errorf("%s for %v", e.Source, e.For)
			}
		}
	})
}

// TestRulesAreKnown shows what is listed: what is in force, what is not and why, and not what has ended.
func TestRulesAreKnown(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		a := newMachine(t, r.connect(), usual("a")).run()
		synctest.Wait()
		a.set(block("192.0.2.2/32", time.Minute), block("192.0.2.1/32", 0), allow("198.51.100.0/24", 0), block("198.51.100.7/32", time.Hour))
		a.conn.(*fakeConn).fail(errors.New("connection refused"))
		time.Sleep(30 * time.Second)
		list := func() (all []string) {
			for _, k := range a.Rules() {
				all = append(all, fmt.Sprintf("%s %v %v %q", k.Prefix, k.For.Round(time.Second), k.InForce, k.Spared))
			}
			return all
		}
		const rest = `198.51.100.7/32 59m30s false "an allow rule for 198.51.100.0/24 (fleet)"`
		want := []string{`192.0.2.1/32 0s true ""`, `192.0.2.2/32 30s true ""`, `198.51.100.0/24 0s true ""`, rest}
		if got := list(); !slices.Equal(got, want) {
			t.Errorf("listed %q, want %q", got, want)
		}
		time.Sleep(31 * time.Second)
		if got := list(); len(got) != 3 || a.Known().Rules != 3 || a.Known().Spared != 1 {
			t.Errorf("what has ended is listed: %q, or counted: %+v", got, a.Known())
		}
	})
}

// redisAnswer is an error that a server answers.
type redisAnswer string

func (a redisAnswer) Error() string { return string(a) }
func (redisAnswer) RedisError()     {}

// TestErrorsOfSet shows what is said of rules that are too many, and of what Redis answers.
func TestErrorsOfSet(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		o := usual("a")
		o.Config.MaxPublished = 10
		a := newMachine(t, r.connect(), o).run()
		synctest.Wait()
		a.set(blocks(1, 4)...)
		const begin = "too many rules in a minute: one machine may publish 10"
		for n, want := range map[int]string{
			12: begin + ", and these are 12, of which there is room for 6 now; give at most 10 a minute, or raise fleet.max_published",
			8:  begin + "; of these 8 there is room for 6 now, and for all in 1m1s; or raise fleet.max_published",
		} {
			if err := a.Set(t.Context(), blocks(2, n)); err == nil || err.Error() != want {
				t.Errorf("%d rules: %v, want %s", n, err, want)
			}
		}
		a.conn.(*fakeConn).fail(redisAnswer("NOAUTH Authentication required."))
		want := "it is not known that the rules were published: redis answered: NOAUTH Authentication required."
		if err := a.Set(t.Context(), blocks(3, 1)); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	})
}
