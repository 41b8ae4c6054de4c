package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headgate/headgate/test/netlab"
)

// TestKillReaders kills what only looks on. The limiter goes on, and can be read again at once.
func TestKillReaders(t *testing.T) {
	for name, args := range map[string][]string{
		"events": {"events"},
		"top":    {"top", "--once", "--interval", "1h"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.attach("--rate", never, "--burst", "5")
			c := l.command(args...)
			ready := openPipe(t, &c.Stdout)
			c.start()
			if name == "events" {
				ready("SOURCE")
			}
			c.signal(syscall.SIGKILL)
			if r := c.wait(); r.code != -1 {
				t.Errorf("exit %d, want a signal", r.code)
			}
			l.wantPassed(udp(flooder), 20, 5)
			if got := l.stats().Drop.Packets; got != 15 {
				t.Errorf("stats have %d dropped, want 15", got)
			}
			l.must("events", "--for", "1ms") // no other reader is in the way
		})
	}
}

// killTries is how often a command that changes something is killed, each time at another moment.
const killTries = 12

// killer kills commands at random moments of the time that they take. Of that it has one measurement,
// which a busy machine may have drawn out: a kill that comes too late is the latest.
type killer struct {
	*rand.Rand
	most time.Duration
}

func newKiller(t *testing.T, most time.Duration) *killer {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return &killer{Rand: rand.New(rand.NewPCG(seed, 0)), most: most}
}

// strike runs a command and kills it; it returns false where the command was faster.
func (k *killer) strike(c *command) bool {
	c.lab.tb.Helper()
	c.start()
	after := time.Duration(k.Int64N(int64(k.most)))
	time.Sleep(after)
	_ = c.Process.Kill()
	if c.wait().code == -1 {
		return true
	}
	k.most = max(after, 1)
	return false
}

// checkKilled fails a test in which every command was faster than its killer.
func checkKilled(t *testing.T, killed int) {
	t.Helper()
	t.Logf("killed %d of %d", killed, killTries)
	if killed == 0 {
		t.Error("none was killed")
	}
}

// duration measures how long a command takes, so that kills come in the midst of it.
func duration(run func()) time.Duration {
	start := time.Now()
	run()
	return time.Since(start)
}

// TestKillAttach kills attach while it starts an instance: there is a whole one or none, nothing
// stands in the way of the next attach, and detach leaves nothing.
func TestKillAttach(t *testing.T) {
	l := newLab(t)
	attach := []string{"attach", l.dev(), "--max-sources", "4096", "--rate", never, "--burst", "5"}
	k := newKiller(t, duration(func() { l.must(attach...) }))
	l.must("detach", "--all")
	killed := 0
	for n := range killTries {
		if k.strike(l.command(attach...)) {
			killed++
		}
		if r := l.run("status"); r.code != 0 {
			r.wantError(t, 1, "no headgate instance")
			if id := l.programID(); id != 0 {
				t.Errorf("program %d is attached and there is no instance", id)
			}
		}
		l.must(attach...)
		l.wantPassed(udp(fmt.Sprintf("203.0.113.%d", n+1)), 10, 5)
		if left, _ := filepath.Glob(filepath.Join(l.pin, "tmp-*")); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
		l.must("detach", "--all")
		l.wantNoInstance()
	}
	checkKilled(t, killed)
}

// TestKillUpgrade kills attach while it replaces the program of another build. There is always a
// program, it knows what was known, and the next attach completes the upgrade.
func TestKillUpgrade(t *testing.T) {
	l := newLabWith(t, netlab.PairOptions{MTU: 9000})
	attach := []string{"attach", l.dev()}
	l.attach("--rate", never, "--burst", "5")
	l.wantPassed(udp(flooder), 10, 5)
	l.outdate()
	k := newKiller(t, duration(func() { l.must(attach...) }))
	killed := 0
	for range killTries {
		l.outdate()
		stop := l.watchProgram()
		if k.strike(l.command(attach...)) {
			killed++
		}
		l.wantPassed(udp(flooder), 10, 0)
		l.must(attach...)
		if asked, none := stop(); none > 0 {
			t.Errorf("no program on the interface in %d of %d looks", none, asked)
		}
		l.wantPassed(udp(flooder), 10, 0)
		if got := l.status().Interfaces; len(got) != 1 || !got[0].Frags || got[0].ProgramID != l.programID() || outdated(l) {
			t.Errorf("interfaces %+v", got)
		}
	}
	checkKilled(t, killed)
}

// TestKillBlock kills block while it takes a long list. The rules that are in hold, the program
// knows that there are some, and the next block is as if nothing had happened: the list finds room in
// a table that it just fits.
func TestKillBlock(t *testing.T) {
	const n = 20_000
	size := fmt.Sprint(n + 1)
	l := newLab(t)
	l.attach("--max-rules", size)
	file := writeList(t, n)
	block := []string{"block", "--file", file}
	k := newKiller(t, duration(func() { l.must(block...) }))
	killed := 0
	for range killTries {
		l.must("detach", "--all")
		l.attach("--max-rules", size)
		if k.strike(l.command(block...)) {
			killed++
		}
		rules := l.rules()
		for i := range 20 {
			if len(rules) > 0 {
				source, _, _ := strings.Cut(rules[(len(rules)-1)*i/19].Prefix, "/")
				l.wantPassed(udp(source), 5, 0)
			}
		}
		if len(rules) < n {
			l.wantPassed(udp(listed(n-1)), 5, 5)
		}
		l.must(block...)
		if rules := l.rules(); len(rules) != n {
			t.Errorf("%d rules, want %d", len(rules), n)
		}
	}
	l.must("unset", "--file", file)
	if got := l.status().Rules; got != 0 {
		t.Errorf("%d rules left", got)
	}
	checkKilled(t, killed)
}

// listed is a line of the file that writeList writes.
func listed(n int) string { return fmt.Sprintf("10.%d.%d.%d", n>>16, n>>8&255, n&255) }

func writeList(t *testing.T, n int) string {
	t.Helper()
	var list strings.Builder
	for i := range n {
		fmt.Fprintln(&list, listed(i))
	}
	return writeFile(t, list.String())
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
