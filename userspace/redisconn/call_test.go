package redisconn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/userspace/config"
)

const timeout = 20 * time.Millisecond

func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		got, err := b.Do(ask("a"), 0)
		if got != "a" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		b.fake.set(fail(answered("WRONGTYPE of a key")))
		if _, err = b.Do(ask("a"), 0); !errors.Is(err, answered("WRONGTYPE of a key")) {
			t.Errorf("%v instead of what the server says", err)
		}
		b.fake.set(after(0))
		if got, err := b.Do(ask("b"), 0); got != "b" || err != nil {
			t.Errorf("%q, %v after a call that failed", got, err)
		}
		s := b.State()
		if s.Calls != 3 || s.RoundTrips != 3 || s.Errors != 1 || s.InFlight != 0 || s.RoundTrip <= 0 || s.Health != Up {
			t.Errorf("%+v", s)
		}
	})
}

// TestCallsShareRoundTrips has 302 callers: two find nobody under way, the others share what comes next.
func TestCallsShareRoundTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		var wg sync.WaitGroup
		for i := range 302 {
			wg.Go(func() {
				key := strconv.Itoa(i)
				if got, err := b.Do(ask(key), 0); got != key || err != nil {
					t.Errorf("%s got %q, %v", key, got, err)
				}
			})
			if i < trips {
				synctest.Wait()
			}
		}
		wg.Wait()
		var calls []int
		for _, one := range b.fake.made() {
			calls = append(calls, len(one.calls))
		}
		if want := []int{1, 1, together, together, 300 - 2*together}; !slices.Equal(calls, want) {
			t.Errorf("round trips of %v calls, want %v", calls, want)
		}
		if b.fake.most != trips {
			t.Errorf("%d round trips at a time", b.fake.most)
		}
	})
}

// TestCase61NobodyWaitsLonger has servers that never answer, and do not mind that nobody waits for them any more.
func TestCase61NobodyWaitsLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		release := make(chan struct{})
		b.fake.set(func(context.Context, []*job) { <-release })
		ended, took := b.all(300)
		if want := map[error]int{ErrTimeout: 300}; !cmp.Equal(ended, want, cmp.Comparer(errors.Is)) || took != timeout {
			t.Errorf("%v after %v", ended, took)
		}
		b.until(t, ErrOpen)
		if _, took := b.all(300); took != 0 {
			t.Errorf("a server that is left alone costs %v", took)
		}
		if n := len(b.fake.made()); n != trips {
			t.Errorf("%d round trips under way to a server that does not answer", n)
		}
		s := b.State()
		if s.InFlight != 0 || s.Timeouts+s.LeftAlone != s.Calls {
			t.Errorf("%+v", s)
		}
		close(release)
	})
}

// TestLateAnswers has an answer come when the one who asked has left, and others ask meanwhile.
func TestLateAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		b.fake.set(after(timeout + 5*time.Millisecond))
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				key := strconv.Itoa(i)
				if got, err := b.Do(ask(key), 0); got != "" && got != key || err == nil {
					t.Errorf("%s got %q, %v", key, got, err)
				}
				if i == 20 {
					b.fake.set(after(0))
				}
			})
		}
		wg.Wait()
		b.well(t)
		for i := range 40 {
			key := "late " + strconv.Itoa(i)
			if got, err := b.Do(ask(key), 0); got != key || err != nil {
				t.Errorf("%s got %q, %v", key, got, err)
			}
		}
	})
}

func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{MaxInFlight: 10})
		ended, took := b.all(15)
		if want := map[error]int{nil: 10, ErrBusy: 5}; !cmp.Equal(ended, want, cmp.Comparer(errors.Is)) || took > 2*time.Millisecond {
			t.Errorf("%v in %v", ended, took)
		}
		if s := b.State(); s.Busy != 5 || s.Health != Up {
			t.Errorf("%+v", s)
		}
	})
}

func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		told := make(chan string, 4)
		done := func(reply string, err error) { told <- fmt.Sprint(reply, " ", err) }
		begin := time.Now()
		b.Start(ask("a"), done)
		if took := time.Since(begin); took != 0 {
			t.Errorf("it waits %v", took)
		}
		if got := <-told; got != "a <nil>" {
			t.Error(got)
		}
		b.fake.set(never)
		begin = time.Now()
		b.Start(ask("b"), done)
		if got := <-told; got != " "+ErrTimeout.Error() || time.Since(begin) != timeout {
			t.Errorf("%s after %v", got, time.Since(begin))
		}
		b.until(t, ErrOpen)
		b.Start(ask("c"), done)
		select {
		case got := <-told:
			if got != " "+ErrOpen.Error() {
				t.Error(got)
			}
		default:
			t.Error("not told at once")
		}
	})
}

// Of a server that answers some calls and not others is told, and it is not left alone: that would help nobody.
func TestSomeCallsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		failing := fail(answered("NOPERM no permissions"))
		for i := range 120 {
			b.fake.set(after(time.Millisecond))
			if i%5 == 0 {
				b.fake.set(failing)
			}
			_, _ = b.Do(ask("a"), 0)
			time.Sleep(time.Second)
		}
		lines := *b.log.lines
		if len(lines) != 2 || !strings.Contains(lines[0], "some of what") || !strings.Contains(lines[0], "headgate.conf") || b.State().Opened != 0 {
			t.Errorf("in two minutes %q, %+v", lines, b.State())
		}
	})
}

// What was wrong is not told any more when calls without haste are well again, though no others are made.
func TestErrorIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		for _, wrong := range []bool{true, false, true} {
			b.fake.set(after(time.Millisecond))
			if wrong {
				b.fake.set(fail(answered("NOPERM no permissions")))
			}
			_, _ = b.DoPatiently(t.Context(), ask("a"), time.Second)
			if s := b.State(); (s.Error != "") != wrong || s.Health != Up {
				t.Errorf("%v: %+v", wrong, s)
			}
		}
	})
}

func TestDoPatiently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		b.fake.set(never)
		b.until(t, ErrOpen)
		begin := time.Now()
		if _, err := b.DoPatiently(t.Context(), ask("a"), time.Second); !errors.Is(err, ErrTimeout) || time.Since(begin) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		b.fake.set(after(300 * time.Millisecond)) // too late for others
		if got, err := b.DoPatiently(t.Context(), ask("a"), time.Second); got != "a" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if got := b.State().RoundTrip; got != 300*time.Millisecond {
			t.Errorf("a round trip of %v, where no other call was answered", got)
		}
		if _, err := b.Do(ask("a"), 0); !errors.Is(err, ErrOpen) {
			t.Errorf("%v", err)
		}
	})
}

// TestClose ends what is under way. The bubble shows that no goroutine is left.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		b.fake.set(never)
		var wg sync.WaitGroup
		for range 300 {
			wg.Go(func() {
				if _, err := b.Do(ask("a"), 0); !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
			})
		}
		wg.Go(func() {
			if _, err := b.DoPatiently(t.Context(), ask("a"), time.Second); !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		})
		wg.Go(func() { b.Subscribe(t.Context(), "c", func(Message) {}) })
		time.Sleep(timeout / 2)
		begin := time.Now()
		if err := b.Close(); err != nil || !b.fake.closed {
			t.Error(err)
		}
		wg.Wait()
		if took := time.Since(begin); took != 0 {
			t.Errorf("it took %v", took)
		}
		if _, err := b.Do(ask("a"), 0); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

// Who has waited for another call before waits for the rest of the time-out, and is answered in it.
func TestCase61NotTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		if got, err := b.Do(ask("a"), timeout-2*time.Millisecond); got != "a" || err != nil {
			t.Errorf("within a part of the time-out: %q, %v", got, err)
		}
		b.fake.set(after(timeout - time.Millisecond))
		began := time.Now()
		others := make(chan error, 1)
		go func() {
			_, err := b.Do(ask("others'"), 0)
			others <- err
		}()
		for _, spent := range []time.Duration{timeout / 4, timeout / 2, timeout, 2 * timeout} {
			asked := time.Now()
			_, err := b.Do(ask("a"), spent)
			if took := time.Since(asked); !errors.Is(err, ErrTimeout) || took != max(timeout-spent, 0) {
				t.Errorf("after %v: %v in %v", spent, err, took)
			}
		}
		if err := <-others; err != nil || time.Since(began) > 2*timeout {
			t.Errorf("another call: %v after %v", err, time.Since(began))
		}
		time.Sleep(timeout) // what was asked is answered, and harms nobody
		if s := b.State(); s.InFlight != 0 || s.Calls != 6 || s.Timeouts != 4 {
			t.Errorf("%+v", s)
		}
	})
}

// Who leaves before others that wait is not in their way: what was not sent yet never is.
func TestLeavesBeforeOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		b.fake.set(after(timeout - 2*time.Millisecond))
		var wg sync.WaitGroup
		for i := range trips + 2 {
			wg.Go(func() {
				if _, err := b.Do(ask(strconv.Itoa(i)), 0); (err != nil) != (i >= trips) { // two round trips are too long for the later ones
					t.Errorf("call %d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		began := time.Now()
		if _, err := b.Do(ask("hasty"), timeout-time.Millisecond); !errors.Is(err, ErrTimeout) || time.Since(began) != time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if n := b.State().InFlight; n != trips+2 {
			t.Errorf("%d calls wait, want those of the others", n)
		}
		wg.Wait()
		time.Sleep(2 * timeout)
		for _, trip := range b.fake.made() {
			for _, call := range trip.calls {
				if call == "hasty" {
					t.Error("a call was sent that nobody waits for")
				}
			}
		}
	})
}
