package e2e_test

import (
	"bufio"
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTopOnTerminal watches a flood live, ends it by a key or a signal, and finds the terminal as
// it was.
func TestTopOnTerminal(t *testing.T) {
	for name, end := range map[string]func(*terminal, *command){
		"q":         func(term *terminal, _ *command) { term.press("xq") },
		"Ctrl-C":    func(term *terminal, _ *command) { term.press("\x03") },
		"terminate": func(_ *terminal, c *command) { c.signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.attach("--rate", "1kpps", "--burst", "100")
			term := newTerminal(t)
			before := term.settings()
			f := l.startFlood(udp(flooder))
			c := term.session(l.command("top", "--interval", "100ms")).start()
			term.shown.await(t, "headgate top")
			await(t, "a picture with rates", func() bool { return strings.Contains(lastRow(term), flooder) })
			if during := term.settings(); during.Lflag&(unix.ICANON|unix.ECHO) != 0 {
				t.Error("the terminal still waits for whole lines, or shows keys")
			}
			end(term, c)
			if r := c.wait(); r.code != 0 {
				t.Errorf("exit %d: %s", r.code, term.shown.String())
			}
			f.end()
			if after := term.settings(); after != before {
				t.Errorf("terminal settings %+v, they were %+v", after, before)
			}
			term.shown.await(t, "\x1b[?25h\x1b[?1049l") // cursor shown, former screen
		})
	}
}

// lastRow returns the source's row of the last whole picture, if rates are in it: they are not in
// the first one, nor where nothing was lost since the one before.
func lastRow(term *terminal) string {
	pictures := strings.Split(term.shown.String(), "\x1b[H")
	for line := range strings.Lines(pictures[max(0, len(pictures)-2)]) {
		fields := strings.Fields(line)
		if len(fields) > 4 && fields[0] == flooder && fields[2] != "-" && fields[2] != "0" {
			return line
		}
	}
	return ""
}

// TestTopWithRates measures for a while where there is no terminal.
func TestTopWithRates(t *testing.T) {
	l := newLab(t)
	l.attach("--rate", "1kpps")
	l.startFlood(udp(flooder))
	type rated struct {
		topJSON
		Rates struct {
			Drop float64 `json:"drop_packets_per_second"`
			Pass float64 `json:"pass_packets_per_second"`
		}
	}
	await(t, "a rate", func() bool {
		got := query[[]rated](l, "top", "--interval", "200ms")
		return len(got) == 1 && got[0].Source == flooder && got[0].Rates.Drop > 0 && got[0].Rates.Pass > 0
	})
}

// TestEvents sees drops as they happen, with one reader at a time.
func TestEvents(t *testing.T) {
	l := newLab(t)
	l.attach("--rate", never, "--burst", "1")
	l.must("block", modest)

	c := l.command("events")
	ready := openPipe(t, &c.Stdout)
	c.start()
	ready("SOURCE")
	l.run("events", "--for", "5s").wantError(t, 1, "another headgate command is at work; two readers would each see a part of them; wait until that `headgate events`")
	f := l.startFlood(udp(flooder), udp(modest))
	ready("blocked")
	ready("over_packet_limit")
	f.end()
	c.signal(syscall.SIGINT)
	if r := c.wait(); r.code != 0 {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
}

// TestEventsAsJSON reads as many events as it asks for, one on a line.
func TestEventsAsJSON(t *testing.T) {
	const n = 5
	l := newLab(t)
	l.attach("--rate", never, "--burst", "1")
	f := l.startFlood(udp(flooder))
	r := l.must("events", "--count", "5", "-o", "json")
	f.end()
	lines, suppressed := 0, uint64(0)
	for s := bufio.NewScanner(strings.NewReader(r.stdout)); s.Scan(); lines++ {
		var e struct {
			Source, Reason, Policy, Interface, Verdict, Protocol string
			Port                                                 int `json:"destination_port"`
			Length                                               int
			Suppressed                                           uint64
		}
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		suppressed += e.Suppressed
		e.Suppressed = 0
		want := e
		want.Source, want.Reason, want.Policy, want.Interface = flooder, "over_packet_limit", "default", l.dev()
		want.Verdict, want.Protocol, want.Port, want.Length = "drop", "udp", 53, ipLength
		if e != want {
			t.Errorf("event %+v, want %+v", e, want)
		}
	}
	if lines != n {
		t.Errorf("%d events, want %d", lines, n)
	}
	if dropped := l.stats().Drop.Packets; suppressed+n > dropped {
		t.Errorf("%d events and %d without one, of %d drops", n, suppressed, dropped)
	}
}
