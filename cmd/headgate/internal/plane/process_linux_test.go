package plane

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"kernel.org/pub/linux/libs/security/libcap/cap"

	"github.com/headgate/headgate/cmd/headgate/internal/privilege"
	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
	"github.com/headgate/headgate/userspace/handdown"
)

// childDir is the environment variable that makes the test binary an agent on the instance in that directory.
const childDir = "HEADGATE_TEST_PLANE"

// TestMain runs a child where it is one.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(dir, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stdout, "error:", strings.ReplaceAll(err.Error(), "\n", "; "))
		}
		return
	}
	os.Exit(m.Run())
}

// child does what it is told, a line each, and answers "ok" or with an error.
func child(dir string, in io.Reader, out io.Writer) error {
	p, err := New(Options{Loader: loader.Options{Dir: dir, LockWait: patience}})
	if err != nil {
		return err
	}
	l := &lab{}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		verb, args, _ := strings.Cut(lines.Text(), " ")
		err := l.childDo(p, verb, strings.Fields(args), out)
		if err != nil {
			fmt.Fprintln(out, "error:", strings.ReplaceAll(err.Error(), "\n", "; "))
			continue
		}
		fmt.Fprintln(out, "ok")
	}
	return p.Close()
}

func (l *lab) childDo(p *Plane, verb string, args []string, out io.Writer) error {
	k := config.Kernel{Mode: config.ModeAuto, IPv4Prefix: 32, IPv6Prefix: 64, Overflow: config.OverflowEstimate, MaxSources: 4096, MaxRules: 10000}
	switch verb {
	case "apply":
		k.Interfaces = args
		k.Default = limitTo(10)
		k.Rules = []config.PrefixRule{block("198.51.100.0/24")}
		policy("dns", 53, 3)(&k)
		return p.Apply(k)
	case "enforce":
		return p.Enforce([]handdown.Rule{offender(args[0])})
	case "scale":
		return p.Scale(0.5)
	case "snapshot":
		_, err := p.Snapshot()
		return err
	case "admin":
		_, err1 := p.Rules()
		_, err2 := p.Policies()
		_, err3 := p.Top(5)
		_, err4 := p.HandedDown()
		_, err5 := p.Protected(netip.MustParsePrefix("10.0.0.0/24"))
		return errors.Join(err1, err2, err3, err4, err5)
	case "follow":
		return followOnce(p, out)
	case "keep":
		var kept []cap.Value
		for _, name := range args {
			v, err := cap.FromName(name)
			if err != nil {
				return err
			}
			kept = append(kept, v)
		}
		return privilege.Keep(kept...)
	}
	return fmt.Errorf("no verb %q", verb)
}

// followOnce follows until something is told, in the background.
func followOnce(p *Plane, out io.Writer) error {
	go func() {
		err := p.Follow(context.Background(), func(e event.Event) { fmt.Fprintln(out, "event", e.Kind, e.Name) })
		if err != nil {
			fmt.Fprintln(out, "event error", err)
		}
	}()
	return nil
}

// process is a child.
type process struct {
	*lab
	cmd   *exec.Cmd
	in    io.Writer
	lines chan string
}

// start starts a child in the host's namespace.
func (l *lab) start() *process {
	l.Helper()
	cmd := exec.CommandContext(l.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), childDir+"="+l.dir)
	cmd.Stderr = l.log
	in, err := cmd.StdinPipe()
	l.must(err)
	out, err := cmd.StdoutPipe()
	l.must(err)
	l.must(l.host.Do(cmd.Start))
	p := &process{lab: l, cmd: cmd, in: in, lines: make(chan string, 1000)}
	go func() {
		defer close(p.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	l.Cleanup(p.kill)
	return p
}

// kill ends the process at once.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// do tells the child what to do, and returns its answer.
func (p *process) do(line string) string {
	p.Helper()
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		p.Fatal(err)
	}
	return p.answer(func(s string) bool { return !strings.HasPrefix(s, "event ") })
}

// answer returns the next line that is right, and "" at the end.
func (p *process) answer(right func(string) bool) string {
	p.Helper()
	timeout := time.After(patience)
	for {
		select {
		case line, open := <-p.lines:
			if !open || right(line) {
				return line
			}
		case <-timeout:
			p.Fatalf("no answer within %s; log:\n%s", patience, p.log)
		}
	}
}

func (p *process) must(line string) {
	p.Helper()
	if got := p.do(line); got != "ok" {
		p.Fatalf("%s: %s", line, got)
	}
}

// Wherever an agent is killed there is a limiter, and the next agent takes over without a gap.
func TestKilledAtAnyMoment(t *testing.T) {
	l := newLab(t)
	l.second("eth7")
	script := []string{"apply far0 eth7", "enforce 203.0.113.8/32", "apply far0"}
	begin := time.Now()
	first := l.start()
	first.must("apply far0")
	first.must("enforce 203.0.113.7/32")
	for _, line := range script {
		first.must(line)
	}
	whole := time.Since(begin)
	program := l.programOn("far0")
	first.kill()
	l.wantPassed(flooder, 80, 9, 0)
	l.wantPassed(modest, 80, 9, 0)
	const moments = 12
	for n := range time.Duration(moments) {
		p := l.start()
		go fmt.Fprintln(p.in, strings.Join(script, "\n"))
		time.Sleep(whole * n / moments) // somewhere on its way
		p.kill()
		if id := l.programOn("far0"); id != program {
			t.Fatalf("program %d, want still %d", id, program)
		}
		l.wantPassed(flooder, 80, 5, 0)
		l.wantPassed(modest, 80, 5, 0)
	}
	l.apply(defaultLimit(10))
	l.wantRules("block 203.0.113.7/32 handdown", "block 203.0.113.8/32 handdown")
	if l.programOn("far0") != program || l.programOn("eth7") != 0 {
		t.Errorf("program %d on far0, %d on eth7", l.programOn("far0"), l.programOn("eth7"))
	}
}

// The capabilities that the agent needs to start, and those that it needs afterwards.
func TestCapabilities(t *testing.T) {
	const start = "cap_bpf cap_net_admin cap_perfmon"
	t.Run("start", func(t *testing.T) {
		l := newLab(t)
		p := l.start()
		p.must("keep " + start)
		p.must("apply far0")
		l.exercise(p)
	})
	for _, missing := range strings.Fields(start) {
		t.Run("start without "+missing, func(t *testing.T) {
			l := newLab(t)
			p := l.start()
			p.must("keep " + strings.ReplaceAll(start, missing, ""))
			if got := p.do("apply far0"); !strings.Contains(got, "not permitted") {
				t.Errorf("apply: %s", got)
			}
		})
	}
	t.Run("after the start", func(t *testing.T) {
		l := newLab(t)
		p := l.start()
		p.must("apply far0")
		p.must("keep cap_bpf cap_net_admin")
		l.exercise(p)
	})
}

// exercise does all that an agent does after it has started.
func (l *lab) exercise(p *process) {
	l.Helper()
	p.must("follow")
	l.second("eth7")
	for _, line := range []string{"enforce 203.0.113.7/32", "scale", "snapshot", "admin", "apply far0", "apply far0 eth7", "apply far0 eth7"} {
		p.must(line)
	}
	l.wantPassed(flooder, 80, 9, 0)
	if got := p.answer(func(s string) bool { return strings.HasPrefix(s, "event dropped") }); got == "" {
		l.Error("no drop was told")
	}
	l.delete()
	l.second("eth7")
	if got := p.answer(func(s string) bool { return s == "event attached eth7" }); got == "" {
		l.Error("not attached again")
	}
}
