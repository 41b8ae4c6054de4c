package replay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/replay"
	"github.com/headgate/headgate/userspace/ruleset"
)

func parse(t *testing.T, text string) config.HTTP {
	t.Helper()
	f, err := config.Parse("headgate.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f.HTTP
}

func run(t *testing.T, file, trace string, o replay.Options) *replay.Summary {
	t.Helper()
	s, err := replay.Run(t.Context(), strings.NewReader(trace), parse(t, file), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const perIP = `
http:
  zones: {perip: {key: ip, rate: 1r/s, max_keys: 10k}}
  rules: [{limits: [{zone: perip, burst: 4, nodelay: true}]}]
`

// TestMillion replays a million requests of which it is known what becomes of each: of a thousand clients each sends 10 in a
// burst, of which 5 pass, every 10 s.
func TestMillion(t *testing.T) {
	const clients, bursts, each = 1000, 100, 10
	pr, pw := io.Pipe()
	go func() {
		var b strings.Builder
		for burst := range bursts {
			for n := range each {
				for client := range clients {
					fmt.Fprintf(&b, `{"t_ms":%d,"ip":"10.0.%d.%d","host":"h%d"}`+"\n", burst*10_000, client/250, client%250, n)
				}
			}
			if _, err := io.WriteString(pw, b.String()); err != nil {
				break
			}
			b.Reset()
		}
		pw.Close()
	}()
	lines, allowed := uint64(0), 0
	s, err := replay.Run(t.Context(), pr, parse(t, perIP), replay.Options{
		Top: 3,
		Each: func(r *replay.Request, d *ruleset.Decision) error {
			if lines++; r.Line != lines {
				return fmt.Errorf("line %d comes as the %d-th", r.Line, lines)
			}
			if want := r.Host < "h5"; d.Allowed != want {
				return fmt.Errorf("line %d: allowed %t, want %t", r.Line, d.Allowed, want)
			}
			if d.Allowed {
				allowed++
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &replay.Summary{
		Lines: replay.Lines{Read: 1_000_000}, Requests: 1_000_000, Last: (bursts - 1) * 10 * time.Second,
		Enforced: replay.Effect{
			Refused: 500_000, By: []replay.By{{Rule: "rule 1", Zone: "perip", Refused: 500_000}},
			Clients: replay.Clients{Distinct: clients, Top: []replay.Client{
				{Client: "10.0.0.0", Counted: replay.Counted{Requests: 500}},
				{Client: "10.0.0.1", Counted: replay.Counted{Requests: 500}},
				{Client: "10.0.0.2", Counted: replay.Counted{Requests: 500}},
			}},
		},
		Keys: []replay.Key{
			{Zone: "perip", Key: "10.0.0.0", Counted: replay.Counted{Requests: 1000}, Over: 500},
			{Zone: "perip", Key: "10.0.0.1", Counted: replay.Counted{Requests: 1000}, Over: 500},
			{Zone: "perip", Key: "10.0.0.2", Counted: replay.Counted{Requests: 1000}, Over: 500},
		},
		Counters: s.Counters,
	}
	if diff := cmp.Diff(want, s); diff != "" || allowed != 500_000 {
		t.Errorf("%d allowed (-want +got):\n%s", allowed, diff)
	}
	if c := s.Counters.Rules[0].Counts; c.Allowed != 500_000 || c.Refused != 500_000 {
		t.Errorf("the rule counted %+v", c)
	}
}

// A request holds its place until it has ended, after its delay too; without took_ms, and where it is refused, not at all.
func TestTook(t *testing.T) {
	const file = `
http:
  zones: {slots: {key: ip, concurrent: 1}, slow: {key: ip, rate: 1r/s}}
  rules: [{match: {path: /slow}, limits: [{zone: slots}, {zone: slow, burst: 9}]}, {limits: [{zone: slots}]}]
`
	const trace = `{"t_ms":0,"ip":"::1","took_ms":10}
{"t_ms":9,"ip":"::1","took_ms":1000}
{"t_ms":9.999999,"ip":"::1"}
{"t_ms":10,"ip":"::1"}
{"t_ms":10,"ip":"::1"}
{"t_ms":10,"ip":"::1","path":"/slow","took_ms":5}
{"t_ms":16,"ip":"::1","path":"/slow","took_ms":5}
{"t_ms":1000,"ip":"::1"}
{"t_ms":1015,"ip":"::1"}
`
	var allowed []uint64
	s := run(t, file, trace, replay.Options{Each: func(r *replay.Request, d *ruleset.Decision) error {
		if d.Allowed {
			allowed = append(allowed, r.Line)
		}
		return nil
	}})
	if diff := cmp.Diff([]uint64{1, 4, 5, 6, 7, 9}, allowed); diff != "" {
		t.Errorf("allowed lines (-want +got):\n%s", diff)
	}
	if s.TookUnknown != 5 || s.Enforced.Refused != 3 || s.Enforced.LongestDelay != 994*time.Millisecond {
		t.Errorf("%+v", s)
	}
}

// What is enforced and what is tried out are told apart, each request counted for one limit.
func TestDryRunIsToldApart(t *testing.T) {
	const file = `
http:
  zones: {a: {key: ip, rate: 1r/s}, b: {key: "const:b", rate: 1r/s}, c: {key: "header:c", rate: 1r/s}}
  rules:
    - {name: tried, continue: true, dry_run: true, limits: [{zone: a, burst: 1, delay: 0}, {zone: c}]}
    - {name: kept, limits: [{zone: b, burst: 2, nodelay: true}]}
`
	s := run(t, file, strings.Repeat(`{"t_ms":0,"ip":"192.0.2.1"}`+"\n", 3)+
		`{"t_ms":0,"ip":"2001:db8::1"}`+"\n", replay.Options{Top: 1})
	dry := replay.Effect{
		Refused: 1, Delayed: 1, LongestDelay: time.Second, TotalDelay: time.Second,
		By:      []replay.By{{Rule: "tried", Zone: "a", Refused: 1, Delayed: 1}},
		Clients: replay.Clients{Distinct: 1, Top: []replay.Client{{Client: "192.0.2.1", Counted: replay.Counted{Requests: 1}}}},
	}
	enforced := replay.Effect{
		Refused: 1, By: []replay.By{{Rule: "kept", Zone: "b", Refused: 1}},
		Clients: replay.Clients{Distinct: 1, Top: []replay.Client{{Client: "2001:db8::/64", Counted: replay.Counted{Requests: 1}}}},
	}
	if diff := cmp.Diff(dry, s.DryRun); diff != "" {
		t.Errorf("dry run (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(enforced, s.Enforced); diff != "" {
		t.Errorf("enforced (-want +got):\n%s", diff)
	}
	if got := s.Counters.Rules[0].Absent; got != 4 {
		t.Errorf("%d lack the key, want 4", got)
	}
}

// TestInstantDoesNotMatter: t_ms may count from any instant, also for nginx, which has a way of its own with the first
// minutes after its machine started.
func TestInstantDoesNotMatter(t *testing.T) {
	const file = `
http:
  zones:
    perip: {key: ip, rate: 6r/m, algorithm: nginx}
    all:   {key: "const:all", rate: 6r/m, algorithm: nginx}
  rules: [{limits: [{zone: perip, burst: 1}, {zone: all, burst: 9}]}]
`
	for _, start := range []int{0, 1, 1_000_000, -60_000} {
		var b strings.Builder
		for i := range 12 {
			fmt.Fprintf(&b, `{"t_ms":%d,"ip":"192.0.2.%d"}`+"\n", start+i*100, i%3)
		}
		s := run(t, file, b.String(), replay.Options{})
		want := []replay.By{{Rule: "rule 1", Zone: "perip", Refused: 6}, {Rule: "rule 1", Zone: "all", Delayed: 5}}
		if diff := cmp.Diff(want, s.Enforced.By); diff != "" {
			t.Errorf("from %d (-want +got):\n%s", start, diff)
		}
	}
}

func TestTimeThatGoesBack(t *testing.T) {
	s := run(t, perIP, `{"t_ms":5,"ip":"::1"}
{"t_ms":4,"ip":"::1"}
{"t_ms":-1,"ip":"::1"}
{"t_ms":3,"ip":"::1"}
`, replay.Options{})
	if s.Back != 2 || s.FurthestBack != 6*time.Millisecond || s.First != -time.Millisecond || s.Last != 5*time.Millisecond {
		t.Errorf("%+v", s)
	}
}

// Requests that are not in order do not make time go faster, for no key and however far they go back.
func TestOrderIsNoClock(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, `{"t_ms":%d,"ip":"10.0.%d.1"}`+"\n", i-i%2*3_600_000, i/2%100)
	}
	s := run(t, perIP, b.String(), replay.Options{})
	if s.Back != 500 || s.Enforced.Refused != 500 {
		t.Errorf("%+v", s)
	}
}

// A line that cannot be read is left out, and told.
func TestBadLines(t *testing.T) {
	s := run(t, perIP, "{\n\n"+strings.Repeat(`{"t_ms":0,"ip":"::1"}`+"\r\n", 2)+strings.Repeat("x", replay.MaxLine+1)+"\n"+
		strings.Repeat("x", 3*replay.MaxLine)+"\n"+strings.Repeat("[]\n", 9), replay.Options{})
	if s.Requests != 2 || s.Lines.Read != 14 || s.Lines.Unreadable != 12 || len(s.Lines.First) != 5 ||
		s.Lines.First[1] != (replay.Bad{Line: 5, Reason: "longer than 1 MiB"}) || s.Lines.First[2] != (replay.Bad{Line: 6, Reason: "longer than 1 MiB"}) || s.Lines.First[3].Line != 7 {
		t.Errorf("%+v", s)
	}
	s, err := replay.Run(t.Context(), strings.NewReader(`203.0.113.7 - - [29/Nov/2026:12:00:00 +0000] "-" 400 0`),
		parse(t, perIP), replay.Options{Format: replay.Log})
	if err != nil || s.Lines.NoRequest != 1 || s.Lines.Unreadable != 0 || s.Requests != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// What ends a replay does not lose what was done, even where reading blocks.
func TestEnd(t *testing.T) {
	errEnough := errors.New("enough")
	line := `{"t_ms":0,"ip":"::1"}` + "\n"
	s, err := replay.Run(t.Context(), strings.NewReader(strings.Repeat(line, 1000)), parse(t, perIP), replay.Options{
		Each: func(r *replay.Request, _ *ruleset.Decision) error {
			if r.Line == 10 {
				return errEnough
			}
			return nil
		},
	})
	if !errors.Is(err, errEnough) || s.Requests != 10 {
		t.Errorf("%v, %+v", err, s)
	}

	pr, pw := io.Pipe()
	defer pw.Close()
	go func() { _, _ = io.WriteString(pw, line) }() // it is read, or the test fails
	ctx, cancel := context.WithCancel(t.Context())
	s, err = replay.Run(ctx, pr, parse(t, perIP), replay.Options{Progress: cancel})
	if !errors.Is(err, context.Canceled) || s.Requests != 1 {
		t.Errorf("%v, %+v", err, s)
	}
}

// Nor does it wait for the first bytes.
func TestEndBeforeTheFirstRead(t *testing.T) {
	for _, begun := range []string{"", "\x1f\x8b"} {
		pr, pw := io.Pipe()
		defer pw.Close()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, _ = io.WriteString(pw, begun)
			cancel()
		}()
		s, err := replay.Run(ctx, pr, parse(t, perIP), replay.Options{})
		if !errors.Is(err, context.Canceled) || s == nil || s.Lines.Read != 0 {
			t.Errorf("%q: %v, %+v", begun, err, s)
		}
	}
}

// The time between the first and the last request is one that a Duration holds.
func TestExtremeTimes(t *testing.T) {
	s := run(t, perIP, `{"t_ms":-4611686018427.387903,"ip":"::1"}
{"t_ms":4611686018427.387903,"ip":"::1"}
{"t_ms":-4611686018427.387903,"ip":"::1"}
`, replay.Options{})
	if s.Requests != 3 || s.Last-s.First <= 0 || s.FurthestBack != s.Last-s.First {
		t.Errorf("%+v", s)
	}
}

func TestRulesThatCannotBeKept(t *testing.T) {
	h := parse(t, perIP)
	h.Rules[0].Limits[0].Zone = 7
	if s, err := replay.Run(t.Context(), strings.NewReader(""), h, replay.Options{}); err == nil || s != nil {
		t.Errorf("%+v, %v", s, err)
	}
}
