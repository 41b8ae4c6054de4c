package redisconn

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/userspace/config"
)

// TestOpens tells which round trips make a breaker open: s are well, f fail.
func TestOpens(t *testing.T) {
	for trips, want := range map[string]bool{
		"ff": false, "fff": true, "ffsff": false,
		"ffsffsffsffsff":                       true, // 10 of 14
		"fsfsfsfsfsfsfsfsfsf":                  true,
		"fsfsfsfsfsfsfsfsfss":                  false,
		"fssfssfssfssfssfssfssfssfssfssfssfss": false,
	} {
		b := newBreaker(64)
		opens := false
		for _, one := range trips {
			if one == 's' {
				b.succeed()
			} else {
				opens = b.fail(errRefused) || opens
			}
		}
		if opens != want || opens != (b.phase == opened) || opens == b.admits(0) {
			t.Errorf("%s: opens: %v", trips, opens)
		}
	}
}

// TestRampAdmits has the number of calls double with each round trip.
func TestRampAdmits(t *testing.T) {
	b := newBreaker(20)
	b.open(errRefused)
	if !b.probed(nil) || b.phase != ramping {
		t.Fatal("a probe that is well changes nothing")
	}
	for _, want := range []int{4, 8, 16} {
		if !b.admits(want-1) || b.admits(want) {
			t.Errorf("not %d calls at a time", want)
		}
		if changed := b.succeed(); changed != (want == 16) {
			t.Errorf("after %d: changed: %v", want, changed)
		}
	}
	if b.phase != closed || !b.admits(1000) || b.cause != nil {
		t.Errorf("%+v", b)
	}
}

// TestPauses has servers fail again and again, in probes and when calls come back.
func TestPauses(t *testing.T) {
	b := newBreaker(64)
	b.open(errRefused)
	var got []time.Duration
	for i := range 9 {
		got = append(got, b.wait())
		if i%2 == 0 {
			b.probed(errRefused)
		} else {
			b.probed(nil)
			b.fail(errRefused)
		}
	}
	const ms = time.Millisecond
	want := []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 2000 * ms, 2000 * ms, 2000 * ms, 2000 * ms}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	b.probed(nil)
	for b.phase == ramping {
		b.succeed()
	}
	b.open(errRefused)
	if got := b.wait(); got != firstPause {
		t.Errorf("after it was well: %v", got)
	}
}

// TestSilence leaves servers alone when they have not answered anything for three time-outs, although only two round trips
// are under way, and those are given more time.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		b.fake.set(never)
		begin := time.Now()
		b.until(t, ErrOpen)
		if took := time.Since(begin); took < silence*timeout || took > (silence+1)*timeout+5*time.Millisecond {
			t.Errorf("after %v", took)
		}
		if n := len(b.fake.made()); n != trips {
			t.Errorf("%d round trips", n)
		}
	})
}

// TestOneConnectionHangs has the first round trip never be answered, and another one be late: as others are answered, the
// server is not silent.
func TestOneConnectionHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		begin := time.Now()
		var first, late sync.Once
		b.fake.set(func(ctx context.Context, jobs []*job) {
			answer := after(time.Millisecond)
			first.Do(func() { answer = never })
			if time.Since(begin) > silence*timeout {
				late.Do(func() { answer = after(timeout + 5*time.Millisecond) })
			}
			answer(ctx, jobs)
		})
		for time.Since(begin) < 10*silence*timeout {
			b.all(3)
			time.Sleep(time.Millisecond)
		}
		if s := b.State(); s.Opened != 0 || s.Timeouts == 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestIdleIsNoSilence has nobody ask for an hour.
func TestIdleIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		b.all(10)
		time.Sleep(time.Hour)
		b.fake.set(after(timeout + time.Millisecond))
		b.all(1)
		if s := b.State(); s.Health != Up || s.Timeouts != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// TestOnlyProbesTry has callers all the time: none of their calls reaches a server that is left alone, and each probe comes later
// than the last.
func TestOnlyProbesTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		b.fake.set(fail(errRefused))
		if n := b.until(t, ErrOpen); n != inARow+1 {
			t.Errorf("call %d is the first that is not made", n)
		}
		b.fake.made()
		begin := time.Now()
		for time.Since(begin) < time.Minute {
			b.all(3)
			time.Sleep(10 * time.Millisecond)
		}
		last := begin
		for i, one := range b.fake.made() {
			if !slices.Equal(one.calls, []string{"p:probe"}) {
				t.Fatalf("%v were called", one.calls)
			}
			pause := min(firstPause<<i, longestPause)
			if waited := one.at.Sub(last); waited < pause/2 || waited > pause*3/2 {
				t.Errorf("probe %d comes after %v, and the pause is %v", i, waited, pause)
			}
			last = one.at
		}
		if s := b.State(); s.Opened != 1 || s.Probes < 20 || s.Probes > 70 || s.Health != Down {
			t.Errorf("%+v", s)
		}
	})
}

// TestNoHerd has 500 callers at all times when the servers answer again, slowly.
func TestNoHerd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		b.fake.set(fail(errRefused))
		b.until(t, ErrOpen)
		b.fake.set(after(5 * time.Millisecond))
		b.fake.made()
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range 500 {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					_, _ = b.Do(ask("k"), 0)
					time.Sleep(time.Millisecond)
				}
			})
		}
		b.well(t)
		close(stop)
		wg.Wait()
		may, well := firstAllowance, 0
		for i, one := range b.fake.made() {
			if one.calls[0] == "p:probe" {
				well++
				continue
			}
			if i < 2 {
				t.Fatalf("%v before a probe was well", one.calls)
			}
			if len(one.calls) > may {
				t.Errorf("%d calls together at the round trip %d", len(one.calls), i)
			}
			may *= 2
		}
		if well < 2 {
			t.Errorf("%d probes", well)
		}
	})
}

// TestBackWithoutCalls has servers be well again with nobody who asks, twice.
func TestBackWithoutCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		for range 2 {
			b.fake.set(fail(answered("OOM command not allowed")))
			b.until(t, ErrOpen)
			b.fake.set(after(time.Millisecond))
			b.well(t)
		}
		if want := []Health{Down, Probing, Up, Down, Probing, Up}; !slices.Equal(b.states, want) {
			t.Errorf("%v", b.states)
		}
		lines := strings.Join(*b.log.lines, "\n")
		if len(*b.log.lines) != 6 || !strings.Contains(lines, "error=OOM command not allowed") || !strings.Contains(lines, "maxmemory") {
			t.Errorf("%s", lines)
		}
		probes := b.State().Probes
		time.Sleep(time.Minute)
		if s := b.State(); s.Error != "" || s.Probes != probes {
			t.Errorf("a minute after it was well: %+v", s)
		}
	})
}

// TestNotWell has servers that answer probes, but not as they should.
func TestNotWell(t *testing.T) {
	for name, answer := range map[string]func(context.Context, []*job){
		"late":     after(timeout + time.Millisecond),
		"no disk":  fail(answered("MISCONF Redis is configured to save RDB snapshots")),
		"nonsense": func(_ context.Context, jobs []*job) { jobs[0].reply = "1" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, 1, config.Redis{})
				b.fake.set(fail(errRefused))
				b.until(t, ErrOpen)
				b.fake.set(answer)
				time.Sleep(time.Minute)
				if s := b.State(); s.Health != Down || s.Probes < 10 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// TestFailsAgain has servers fail as soon as calls come back.
func TestFailsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		b.fake.set(func(ctx context.Context, jobs []*job) {
			if jobs[0].text[0] == "p:probe" {
				after(0)(ctx, jobs)
			} else {
				fail(errRefused)(ctx, jobs)
			}
		})
		begin := time.Now()
		failed := 0
		for time.Since(begin) < time.Minute {
			if _, err := b.Do(ask("k"), 0); errors.Is(err, errRefused) {
				failed++
			}
			time.Sleep(time.Millisecond)
		}
		if failed < inARow || failed > 70 {
			t.Errorf("%d calls in a minute reach servers that fail", failed)
		}
	})
}

// TestLateFlightIsOfThePast has a round trip fail that began before the servers were left alone, when they are well again.
func TestLateFlightIsOfThePast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		b.fake.set(func(ctx context.Context, jobs []*job) {
			time.Sleep(300 * time.Millisecond)
			fail(errRefused)(ctx, jobs)
		})
		b.until(t, ErrOpen)
		b.fake.set(after(0))
		b.well(t)
		time.Sleep(time.Second)
		if s := b.State(); s.Opened != 1 || s.Error != "" {
			t.Errorf("%+v", s)
		}
	})
}

// TestNobodyAsks has servers fail that only calls without haste go to: that is known, and so is when they are well again.
func TestNobodyAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		b.fake.set(fail(errRefused))
		for i := range inARow {
			if s := b.State(); s.Health != Up {
				t.Fatalf("%s after %d calls", s.Health, i)
			}
			if _, err := b.DoPatiently(t.Context(), ask("a"), time.Second); !errors.Is(err, errRefused) {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if s := b.State(); s.Health != Down || s.Opened != 1 {
			t.Errorf("%+v", s)
		}
		b.fake.set(after(time.Millisecond))
		b.well(t)

		b.fake.set(fail(answered("WRONGTYPE of one key"))) // says nothing against the server
		for range 2 * inARow {
			_, _ = b.DoPatiently(t.Context(), ask("a"), time.Second)
		}
		if s := b.State(); s.Health != Up {
			t.Errorf("%+v", s)
		}
	})
}

// TestAnotherReason has servers be unwell for one reason after another: each is told once, with what to do.
func TestAnotherReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, config.Redis{})
		b.fake.set(fail(errRefused))
		b.until(t, ErrOpen)
		time.Sleep(10 * time.Second)
		b.fake.set(fail(answered("NOPERM no permissions to access a key")))
		time.Sleep(10 * time.Second)
		b.fake.set(after(time.Millisecond))
		b.well(t)
		var told []string
		for _, line := range *b.log.lines {
			if strings.Contains(line, "left alone") {
				told = append(told, line)
			}
		}
		if len(told) != 2 || !strings.Contains(told[0], "see whether Redis runs") || !strings.Contains(told[1], "headgate.conf grants") {
			t.Errorf("told %q", told)
		}
	})
}
