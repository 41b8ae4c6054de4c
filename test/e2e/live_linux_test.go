package e2e_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/packet"
)

// TestChangesDuringFlood changes what holds for one of two sources while both flood. What is sent
// after a command has returned is decided as it says, to the packet; the other source never loses
// one. A change to a limit may let one more packet pass, the burst of 1.
func TestChangesDuringFlood(t *testing.T) {
	const source = flooder
	const limit = " --rate " + never + " --burst 1"
	steps := []struct {
		args   string
		passes bool
		burst  uint64 // packets that may pass after the command all the same
	}{
		{"block " + source, false, 0},
		{"allow " + source, true, 0},
		{"unset " + source, true, 0},
		{"set " + source + limit, false, 1},
		{"set " + source + " --rate 100Mpps", true, 0},
		{"set " + source + limit, false, 1},
		{"allow 203.0.113.0/24", false, 1}, // a shorter prefix
		{"allow " + source + "/32 --for 1h", true, 0},
		{"unset " + source, true, 0}, // by the shorter prefix
		{"unset 203.0.113.0/24", true, 0},
		{"block 203.0.113.0/24", false, 0},
		{"unset 203.0.113.0/24 ::/0", true, 0},
		{"policy set dns --proto udp --port 53" + limit, false, 1},
		{"policy set dns --proto udp --port 54", true, 0},
		{"policy set dns --port 50-60", false, 0}, // its bucket is the same
		{"policy set dns --dry-run", true, 0},
		{"policy set dns --dry-run=false", false, 0},
		{"policy delete dns", true, 0},
	}
	l := newLab(t)
	l.attach()
	f := l.startFlood(udp(source), packet.UDPFrame(modest, target, 99, 18))
	for _, step := range steps {
		f.mark()
		l.must(strings.Fields(step.args)...)
		f.mark()
		sent, arrived := f.mark()
		got, want := arrived[addr(source)].Packets, uint64(0)
		if step.passes {
			want = sent
		}
		if got != want && got != want+step.burst {
			t.Errorf("after %s: %d of %d packets passed, want %d", step.args, got, sent, want)
		}
		if other := arrived[addr(modest)].Packets; other != sent {
			t.Errorf("after %s: %d of %d packets of another source passed", step.args, other, sent)
		}
	}
}

// TestDefaultDuringFlood changes the limit of everybody. A source that was limited to next to
// nothing is free at once when its limit is raised: what it owed is cut to the new burst. Where its
// limit is lowered, it first pays off what it owed, 100 ms here, and then has the burst of 1.
func TestDefaultDuringFlood(t *testing.T) {
	l := newLab(t)
	l.attach("--rate", "1kpps", "--burst", "100")
	f := l.startFlood(udp(flooder))
	for _, step := range []struct {
		args   string
		passes bool
		burst  uint64 // packets that may pass after the command all the same
	}{
		{"--rate " + never + " --burst 1", false, 1},
		{"--rate 100Mpps", true, 0},
		{"--rate off --bandwidth 1B/s --bandwidth-burst 1", false, 0},
		{"--bandwidth off", true, 0},
	} {
		l.must(append([]string{"set", "default"}, strings.Fields(step.args)...)...)
		f.mark()
		sent, arrived := f.mark()
		want := uint64(0)
		if step.passes {
			want = sent
		}
		if got := arrived.Total().Packets; got != want && got != want+step.burst {
			t.Errorf("after %s: %d of %d packets passed, want %d", step.args, got, sent, want)
		}
	}
}

// TestRuleEnds has no process of headgate while a rule comes to its end.
func TestRuleEnds(t *testing.T) {
	const lasts = 2 * time.Second
	for _, verb := range []string{"block", "set"} {
		t.Run(verb, func(t *testing.T) {
			l := newLab(t)
			l.attach()
			args := []string{verb, flooder, "--for", lasts.String()}
			if verb == "set" {
				args = append(args, "--rate", never, "--burst", "1")
			}
			earliest := bootTime(t) + uint64(lasts)
			l.must(args...)
			latest := bootTime(t) + uint64(lasts)
			rules := l.rules()
			if bootTime(t) < earliest && (len(rules) != 1 || rules[0].Expires == nil) {
				t.Errorf("rules %+v, want one that ends", rules)
			}
			l.passed(udp(flooder), 1) // the burst of the limit
			await(t, "the end of the rule", func() bool { return l.checkEnding(earliest, latest) })
			if rules := l.rules(); len(rules) != 0 {
				t.Errorf("rules %+v after the end", rules)
			}
		})
	}
}

// TestForCountsFromWriting has commands wait before they write: for a list, or for another command.
// The time of a rule does not run meanwhile.
func TestForCountsFromWriting(t *testing.T) {
	const waits = 2 * time.Second
	for _, args := range []string{"block --file -", "allow 203.0.113.7", "set 203.0.113.7 --rate 5pps"} {
		t.Run(args, func(t *testing.T) {
			l := newLab(t)
			l.attach()
			c := l.command(append(strings.Fields(args), "--for", "1h", "--lock-wait", "1m")...)
			in := c.input()
			unlock := l.lock()
			start := bootTime(t)
			c.start()
			await(t, "the wait", func() bool { return bootTime(t) >= start+uint64(waits) })
			written := time.Now()
			unlock()
			if _, err := in.WriteString(flooder + "\n"); err != nil {
				t.Fatal(err)
			}
			in.Close()
			if r := c.wait(); r.code != 0 {
				t.Fatalf("exit %d: %s", r.code, r.stderr)
			}
			rules := l.rules()
			if len(rules) != 1 || rules[0].Expires == nil {
				t.Fatalf("rules %+v, want one that ends", rules)
			}
			ends, err := time.Parse(time.RFC3339, *rules[0].Expires)
			if err != nil || ends.Before(written.Add(time.Hour)) {
				t.Errorf("written after %s and ends at %s (%v), want 1h later", written, ends, err)
			}
		})
	}
}

// lock locks the instance, as another command would, until unlock is called.
func (l *lab) lock() (unlock func()) {
	l.tb.Helper()
	f, err := os.Open(l.pin)
	if err != nil {
		l.tb.Fatal(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		l.tb.Fatal(err)
	}
	return func() { closeAll(l.tb, f) }
}

// checkEnding sends packets near the end of a rule, and returns true when it is over.
func (l *lab) checkEnding(earliest, latest uint64) bool {
	l.tb.Helper()
	const n = 10
	before := bootTime(l.tb)
	passed := l.passed(udp(flooder), n)
	after := bootTime(l.tb)
	if after < earliest && passed != 0 {
		l.tb.Errorf("%d packets passed %s before the end", passed, time.Duration(earliest-after))
	}
	if before >= latest && passed != n {
		l.tb.Errorf("%d of %d packets passed %s after the end", passed, n, time.Duration(before-latest))
	}
	return before >= latest
}

// TestEventsEndWithInstance has the instance removed under who watches it: going on to show nothing
// would look like peace.
func TestEventsEndWithInstance(t *testing.T) {
	l := newLab(t)
	l.attach("--rate", never, "--burst", "1")
	watching := l.command("events", "-o", "json").start()
	l.must("detach", "--all")
	r := watching.wait()
	// It may not have opened the instance before that was gone.
	if r.code != 1 || !strings.Contains(r.stderr, "the instance was removed") && !strings.Contains(r.stderr, "no headgate instance") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
}
