package fleet

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/userspace/event"
	"github.com/headgate/headgate/userspace/redisconn"
)

// settle lets time pass until what is seen now is taken to be so.
func settle() {
	time.Sleep(goneAfter + 3*beatEvery)
	synctest.Wait()
}

// resized returns which numbers Options.Resized was called with since the last time.
func (m *machine) resized() (all []int) {
	for {
		select {
		case n := <-m.sizes:
			all = append(all, n)
		default:
			return all
		}
	}
}

func wantSizes(t *testing.T, what string, m *machine, n int, told ...int) {
	t.Helper()
	if got := m.Members(); got != n {
		t.Errorf("%s: %s sees %d members, want %d", what, m.o.Redis.Name, got, n)
	}
	if got := m.resized(); !slices.Equal(got, told) {
		t.Errorf("%s: %s was told of %v members, want %v", what, m.o.Redis.Name, got, told)
	}
}

func TestMembersComeAndGo(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		a := newMachine(t, r.connect(), usual("a"))
		wantSizes(t, "before it runs", a, 1)
		a.run()
		settle()
		wantSizes(t, "alone", a, 1)

		b := newMachine(t, r.connect(), usual("b")).run()
		synctest.Wait()
		c := newMachine(t, r.connect(), usual("b")).run() // of the same name, and another machine
		synctest.Wait()
		wantSizes(t, "at its start", c, 3, 3)
		wantSizes(t, "a moment later", a, 1)
		settle()
		wantSizes(t, "with two more", a, 3, 3)
		if e := a.told(event.FleetResized); len(e) != 1 || e[0].Members != 3 {
			t.Errorf("events: %+v", e)
		}

		c.stop() // and it says good-bye
		time.Sleep(2 * beatEvery)
		wantSizes(t, "a moment after a good-bye", a, 3)
		settle()
		wantSizes(t, "after a good-bye", a, 2, 2)

		b.conn.(*fakeConn).fail(errors.New("cut"))
		time.Sleep(goneAfter - 2*beatEvery)
		if got := len(a.Status(t.Context()).Members); got != 2 {
			t.Errorf("%d members while one may still come back", got)
		}
		settle()
		settle()
		wantSizes(t, "after one is silent", a, 1, 1)
		wantSizes(t, "who does not see the others", b, 2, 2, 3, 2)
	})
}

// TestMembersOfBefore shows that a member that takes the place of another one begins with its number, and gives that up only when
// it has seen another one for long enough: others may be about to come.
func TestMembersOfBefore(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		c := r.connect()
		c.fail(errors.New("away"))
		o := usual("a")
		o.Members = 3
		m := newMachine(t, c, o).run()
		settle()
		wantSizes(t, "away", m, 3)
		c.fail(nil)
		time.Sleep(goneAfter - beatEvery)
		wantSizes(t, "seen alone for a moment", m, 3)
		settle()
		wantSizes(t, "seen alone", m, 1, 1)
	})
}

// TestMemberBeginsAnew shows that an agent that begins anew changes the number for nobody.
func TestMemberBeginsAnew(t *testing.T) {
	for _, says := range []bool{true, false} {
		bubble(t, func(t *testing.T, r *fakeRedis) {
			a := newMachine(t, r.connect(), usual("a")).run()
			b := newMachine(t, r.connect(), usual("b")).run()
			settle()
			wantSizes(t, "at first", a, 2, 2)
			if !says {
				b.conn.(*fakeConn).fail(errors.New("killed"))
			}
			b.stop()
			time.Sleep(3 * time.Second)
			again := newMachine(t, r.connect(), usual("b")).run()
			settle()
			settle()
			wantSizes(t, "after b began anew", a, 2)
			if says {
				wantSizes(t, "b", again, 2, 2)
			} else {
				wantSizes(t, "b, that sees who it was for a while", again, 2, 3, 2)
			}
		})
	}
}

// TestTwin shows that two machines of one name are told of, and that one that begins anew is not one of them.
func TestTwin(t *testing.T) {
	const told = "has the name of this one"
	bubble(t, func(t *testing.T, r *fakeRedis) {
		c := r.connect()
		a := newMachine(t, c, usual("a")).run()
		settle()
		c.fail(errors.New("killed"))
		a.stop()
		again := newMachine(t, r.connect(), usual("a")).run()
		settle()
		settle()
		if got := again.log.count(told); got != 0 {
			t.Errorf("told %d times of who it was itself", got)
		}
		other := newMachine(t, r.connect(), usual("a")).run()
		for range 5 {
			settle()
		}
		if got, its := again.log.count(told), other.log.count(told); got != 1 || its != 1 {
			t.Errorf("told %d and %d times", got, its)
		}
	})
}

// TestAwayKeepsTheNumber shows that nobody is gone because Redis does not answer, or has lost who there is.
func TestAwayKeepsTheNumber(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		a := newMachine(t, r.connect(), usual("a")).run()
		b := newMachine(t, r.connect(), usual("b")).run()
		settle()
		wantSizes(t, "at first", a, 2, 2)
		down := errors.New("connection refused")
		for _, m := range []*machine{a, b} {
			m.conn.(*fakeConn).fail(down)
		}
		time.Sleep(time.Hour)
		wantSizes(t, "while Redis is away", a, 2)
		s := a.Status(t.Context())
		if s.Error != "redis cannot be asked: connection refused" || time.Since(s.Seen) < 59*time.Minute || len(s.Members) != 2 || s.Members[1].Seen < 59*time.Minute {
			t.Errorf("status: %+v", s)
		}
		if got := a.log.count("the fleet is not seen"); got != 1 {
			t.Errorf("told %d times", got)
		}
		r.lose()
		a.conn.(*fakeConn).fail(nil)
		time.Sleep(2 * beatEvery) // it is alone for so long
		b.conn.(*fakeConn).fail(nil)
		settle()
		wantSizes(t, "when Redis is back", a, 2)
		if s := a.Status(t.Context()); s.Error != "" || time.Since(s.Seen) != 0 {
			t.Errorf("status: %+v", s)
		}
		if got := a.log.count("the fleet is seen again"); got != 1 {
			t.Errorf("told %d times", got)
		}
	})
}

// TestStatus shows what members say of each other, and that a Redis whose clock is wrong by an hour changes none of it.
func TestStatus(t *testing.T) {
	for _, offset := range []time.Duration{0, time.Hour, -time.Hour} {
		bubble(t, func(t *testing.T, r *fakeRedis) {
			r.offset = offset
			begun := time.Now()
			b := newMachine(t, r.connect(), usual("b")).run()
			time.Sleep(time.Minute)
			a := newMachine(t, r.connect(), usual("a")).run()
			b.kernel.change(func() { b.kernel.err = errors.New("no kernel") })
			synctest.Wait()
			a.set(block("192.0.2.1/32", 0), block("192.0.2.2/32", 0))
			time.Sleep(beatEvery * 2)
			synctest.Wait()
			s := a.Status(t.Context())
			if s.Here.Name != "a" || len(s.Members) != 2 || s.Error != "" || s.Rules != 2 || s.Published != 2 || s.Store.Health != redisconn.Up {
				t.Fatalf("status: %+v", s)
			}
			first, second := s.Members[0], s.Members[1]
			if first.Name != "a" || first.Version != "v1" || first.Behind != 0 || first.Store != redisconn.Up ||
				first.RoundTrip != 3*time.Millisecond || first.Delay != 0 || first.Seen > 2*beatEvery {
				t.Errorf("a: %+v", first)
			}
			if near := first.Started.Sub(begun.Add(time.Minute)).Abs(); near > 2*time.Millisecond {
				t.Errorf("a began at %v", first.Started)
			}
			if second.Name != "b" || second.Behind != 2 {
				t.Errorf("b: %+v", second)
			}
			b.kernel.change(func() { b.kernel.err = nil })
			time.Sleep(3 * beatEvery)
			second = a.Status(t.Context()).Members[1]
			if second.Behind != 0 || second.Delay < 2*time.Second || second.Delay > 7*time.Second {
				t.Errorf("b, late: %+v", second)
			}
		})
	}
}

func TestStatusOfWhoSawNobody(t *testing.T) {
	bubble(t, func(t *testing.T, r *fakeRedis) {
		c := r.connect()
		c.fail(errors.New("connection refused"))
		a := newMachine(t, c, usual("a")).run()
		synctest.Wait()
		s := a.Status(t.Context())
		if len(s.Members) != 1 || s.Members[0].Name != "a" || !s.Seen.IsZero() || !strings.Contains(s.Error, "refused") {
			t.Errorf("status: %+v", s)
		}
	})
}
