package handdown

import (
	"net/netip"
	"testing"
	"time"
)

// unset removes the rule of 203.0.113.7, as a command does.
func (l *lab) unset() {
	l.kernel.change(func() { delete(l.kernel.rules, netip.MustParsePrefix("203.0.113.7/32")) })
}

func (l *lab) wantAsked(when string, want int) {
	l.Helper()
	l.kernel.change(func() {
		if l.kernel.asked != want {
			l.Errorf("%s: the kernel was asked %d times whether the rule is there, want %d", when, l.kernel.asked, want)
		}
	})
}

// A source whose rule somebody has removed shows that by offending: then it is handed down as any other.
func TestRemovedRuleIsNoticed(t *testing.T) {
	run(t, Options{}, func(l *lab) {
		l.offends("203.0.113.7", 3)
		l.unset()
		l.pass(underWay - 1)
		l.offends("203.0.113.7", 3)
		l.wantAsked("what was under way", 0)
		l.pass(1)
		l.offends("203.0.113.7", 1)
		l.wantAsked("what was not", 1)
		l.wantLog("is gone before its time", 1)
		l.offends("203.0.113.7", 2)
		l.wantBlocked("203.0.113.7/32")
		l.offends("203.0.113.7", 1)
		l.wantBlocked("203.0.113.7/32", "203.0.113.7/32")
		if c := l.Counters(); c.Rules != 1 || c.Late != 4 {
			l.Errorf("%d rules, %d late offences", c.Rules, c.Late)
		}
		if left := l.Top(1)[0].Left; left != 2*time.Minute {
			l.Errorf("the second rule holds for %v", left)
		}
	})
}

// Offences that come for as long as a rule holds, as with action limit, have the kernel asked seldom.
func TestDoubtsAreSeldom(t *testing.T) {
	run(t, Options{}, func(l *lab) {
		l.offends("203.0.113.7", 3)
		for range 100 {
			l.pass(100 * time.Millisecond)
			l.offends("203.0.113.7", 10)
		}
		l.wantAsked("after 10 s", 4) // at 0.1, 1.1, 3.1 and 7.1 s
		l.wantBlocked("203.0.113.7/32")
	})
	o := Options{Config: usual()}
	o.Config.DryRun = true
	run(t, o, func(l *lab) {
		l.offends("203.0.113.7", 3)
		l.pass(time.Second)
		l.offends("203.0.113.7", 3)
		l.wantAsked("a rule of dry run, that there never was", 0)
	})
}

// Who reports a source is not told that it is handed down if somebody has lifted that.
func TestReportAfterUnset(t *testing.T) {
	run(t, Options{}, func(l *lab) {
		for _, want := range []Result{Counted, Counted, HandedDown, HandedDown} {
			o, err := l.Report(l.Context(), netip.MustParsePrefix("203.0.113.7/32"), Report, "", 1)
			if err != nil || o.Result != want {
				l.Errorf("got %+v, %v, want %s", o, err, want)
			}
		}
		l.unset()
		o, err := l.Report(l.Context(), netip.MustParsePrefix("203.0.113.7/32"), Report, "", 1)
		if err != nil || o.Result != Counted || o.Offences != 1 {
			l.Errorf("after unset: %+v, %v", o, err)
		}
	})
}

// The rule of a source that was forgotten may be gone too.
func TestRemovedRuleOfAForgottenSource(t *testing.T) {
	run(t, Options{MaxOffenders: 1}, func(l *lab) {
		l.offends("203.0.113.7", 3)
		l.offends("203.0.113.8", 1) // takes its place
		l.unset()
		l.offends("203.0.113.7", 3)
		l.wantBlocked("203.0.113.7/32", "203.0.113.7/32")
	})
}

// However many rules are doubtful while the kernel takes none, there is room for who has no rule yet.
func TestDoubtsLeaveRoom(t *testing.T) {
	q := newQueue(4)
	for n, want := range []bool{true, true, false, false} {
		if got := q.push(candidate{doubt: true}); got != want {
			t.Errorf("doubt %d: room is %t, want %t", n, got, want)
		}
	}
	for n, want := range []bool{true, true, false} {
		if got := q.push(candidate{}); got != want {
			t.Errorf("candidate %d: room is %t, want %t", n, got, want)
		}
	}
}

// Whoever looks at the offenders is told which rules are still there, and the count of rules follows.
func TestTopAfterUnset(t *testing.T) {
	run(t, Options{}, func(l *lab) {
		l.offends("203.0.113.7", 3)
		l.offends("203.0.113.8", 3)
		l.unset()
		for _, o := range l.Top(10) {
			if removed := o.Source == netip.MustParsePrefix("203.0.113.7/32"); removed != (o.Left == 0) {
				l.Errorf("the rule of %v holds for %v", o.Source, o.Left)
			}
		}
		if n := l.Counters().Rules; n != 1 {
			l.Errorf("%d rules are counted, want 1", n)
		}
	})
	o := Options{Config: usual()}
	o.Config.DryRun = true
	run(t, o, func(l *lab) {
		l.offends("203.0.113.7", 3)
		if left := l.Top(1)[0].Left; left != time.Minute {
			l.Errorf("in dry run the rule holds for %v", left)
		}
	})
}
