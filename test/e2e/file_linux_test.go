package e2e_test

import (
	"bytes"
	"strings"
	"syscall"
	"testing"
)

// TestLongList blocks 100,000 addresses, with a bar where there is a terminal to see it.
func TestLongList(t *testing.T) {
	const n = 100_000
	file := writeList(t, n)
	for _, onTerminal := range []bool{false, true} {
		l := newLab(t)
		l.attach()
		c := l.command("block", "--file", file)
		shown := ""
		if onTerminal {
			term := newTerminal(t)
			c.Stderr = term.slave
			c.start()
			term.shown.await(t, "blocking")
			term.shown.await(t, "/100000")
			if r := c.wait(); r.code != 0 {
				t.Errorf("exit %d: %s", r.code, term.shown.String())
			}
		} else {
			r := c.run()
			shown = r.stderr
			if r.code != 0 || !strings.Contains(r.stdout, "blocked 100000 prefixes") {
				t.Errorf("exit %d: %s", r.code, r.stdout)
			}
		}
		if shown != "" {
			t.Errorf("shown without a terminal: %q", shown)
		}
		for _, i := range []int{0, n / 2, n - 1} {
			l.wantPassed(udp(listed(i)), 3, 0)
		}
		l.wantPassed(udp(listed(n)), 3, 3)
		if got := l.status().Rules; got != n {
			t.Errorf("%d rules, want %d", got, n)
		}
		l.must("unset", "--file", file)
		l.wantPassed(udp(listed(0)), 3, 3)
	}
}

// TestInterruptedList interrupts a list while it is set: it is set as a whole, not in part.
func TestInterruptedList(t *testing.T) {
	const n = 300_000
	file := writeList(t, n)
	l := newLab(t)
	l.attach()
	c := l.command("block", "--file", file).start()
	await(t, "the first rule", func() bool { return l.status().Rules > 0 })
	// An error of a signal says that it was faster. Stopped, it is not, while the test finds out.
	_ = c.Process.Signal(syscall.SIGSTOP)
	within := l.status().Rules < n
	_ = c.Process.Signal(syscall.SIGINT)
	_ = c.Process.Signal(syscall.SIGCONT)
	if r := c.wait(); r.code != 0 && within {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	if got := l.status().Rules; got != n {
		t.Errorf("%d rules, want %d", got, n)
	}
}

// TestLists has files as other programs write them.
func TestLists(t *testing.T) {
	const list = "\ufeff# blocklist\r\n\r\n203.0.113.7 # the flooder\r\n  198.51.100.20/32\t\r\n2001:db8::/32\r\n203.0.113.7\r\n#end"
	for _, name := range []string{"file", "standard input"} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.attach()
			c := l.command("block", "--file", writeFile(t, list))
			if name == "standard input" {
				c = l.command("block", "--file", "-")
				c.Stdin = strings.NewReader(list)
			}
			if r := c.run(); r.code != 0 {
				t.Fatalf("exit %d: %s", r.code, r.stderr)
			}
			var got []string
			for _, r := range l.rules() {
				got = append(got, r.Prefix)
			}
			if s := strings.Join(got, " "); s != "198.51.100.20/32 203.0.113.7/32 2001:db8::/32" {
				t.Errorf("rules %s", s)
			}
			for _, source := range []string{flooder, modest} {
				l.wantPassed(udp(source), 3, 0)
			}
		})
	}
}

// TestWrongLists names the lines that are wrong, up to a number, and changes nothing.
func TestWrongLists(t *testing.T) {
	tests := []struct {
		name, list string
		want       []string // in the lines on stderr, FILE for the file's name
	}{
		{"one", "10.0.0.1\n10.0.0.2/33\n10.0.0.3\n", []string{`FILE:2: prefix "10.0.0.2/33"`}},
		{"many", strings.Repeat("10.0.0.1\nx\n", 7), []string{
			"FILE:2: ", "FILE:4: ", "FILE:6: ", "FILE:8: ", "FILE:10: ", "FILE: 2 more lines are wrong; nothing was changed",
		}},
		{"two on a line", "10.0.0.1 10.0.0.2\n", []string{`FILE:1: prefix "10.0.0.1 10.0.0.2"`}},
		{"binary", string(bytes.Repeat([]byte{0, 0xff}, 50)), []string{"FILE:1: prefix"}},
		{"line without end", strings.Repeat("x", 100_000), []string{"FILE:1: "}},
	}
	l := newLab(t)
	l.attach()
	l.must("block", "10.0.0.1")
	before := l.state()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := writeFile(t, tt.list)
			r := l.run("block", "--file", file)
			lines := r.errorLines()
			if r.code != 1 || len(lines) != len(tt.want) {
				t.Fatalf("exit %d and %q, want 1 and %d lines", r.code, lines, len(tt.want))
			}
			for n, want := range tt.want {
				if want = strings.ReplaceAll(want, "FILE", file); !strings.Contains(lines[n], want) {
					t.Errorf("line %q, want %q in it", lines[n], want)
				}
			}
		})
	}
	l.wantState(before)
}

// TestListTooLong has more prefixes than there is room for: none gets in.
func TestListTooLong(t *testing.T) {
	l := newLab(t)
	l.attach("--max-rules", "1000")
	l.must("block", "192.0.2.1")
	before := l.state()
	l.run("block", "--file", writeList(t, 1000)).wantError(t, 1, "the rule table is full")
	l.wantState(before)
	l.must("block", "--file", writeList(t, 999))
}

// TestMillionRules blocks a million addresses, and again: then nothing is left to write.
func TestMillionRules(t *testing.T) {
	const n = 1_000_000
	file := writeList(t, n)
	l := newLab(t)
	l.attach()
	for _, round := range []string{"first", "second"} {
		took := duration(func() { l.must("block", "--file", file) })
		t.Logf("%s time: %v", round, took)
		if got := l.status().Rules; got != n {
			t.Errorf("%d rules, want %d", got, n)
		}
		for _, i := range []int{0, n / 3, n - 1} {
			l.wantPassed(udp(listed(i)), 3, 0)
		}
		l.wantPassed(udp(listed(n)), 3, 3)
	}
	took := duration(func() { l.must("unset", "--file", file) })
	t.Logf("removed in %v", took)
	if got := l.status().Rules; got != 0 {
		t.Errorf("%d rules, want none", got)
	}
	l.wantPassed(udp(listed(n/3)), 3, 3)
}
