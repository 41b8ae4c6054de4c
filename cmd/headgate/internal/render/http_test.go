package render_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/cmd/headgate/internal/render"
	"github.com/headgate/headgate/test/golden"
)

// checkShared has limits that machines share, with all that may become of them.
func checkShared() render.Check {
	c := check(3)
	for i := range c.InForce.Rules {
		for j := range c.InForce.Rules[i].Limits {
			l := &c.InForce.Rules[i].Limits[j]
			l.Shared = &render.SharedLimit{Limit: "60r/m", OnFailure: []string{"local", "open", "closed"}[j%3], Status: 503, Lease: uint64(j % 2 * 5)}
		}
	}
	c.InForce.Processes = 1
	for i := range c.InForce.Zones {
		c.InForce.Zones[i].Store = "redis"
	}
	return c
}

func httpViews() map[string]render.View {
	return map[string]render.View{
		"explanation_delay":   delayed(),
		"explanation_window":  windowed(),
		"check":               check(1),
		"check_processes":     check(3),
		"check_sections":      checkSections(),
		"check_shared":        checkShared(),
		"check_wrong":         wrongFile(),
		"check_empty":         render.Check{File: "headgate.yaml", Valid: true, Errors: []render.Problem{}, Warnings: []render.Problem{}, InForce: &render.InForce{Sections: []render.SectionInForce{}, Allow: []string{}, Zones: []render.ZoneInForce{}, Rules: []render.RuleInForce{}}},
		"request":             explained(),
		"request_exempt":      render.ExplainedRequest{Client: "203.0.113.7", ClientFrom: "peer", Exempt: true, Rules: []render.ExplainedRule{}, Limits: []render.ExplainedLimit{}, Skipped: []render.SkippedLimit{}},
		"request_not_limited": notLimited(),
		"replay":              replayed(),
		"replay_log":          replayedLog(),
		"replay_empty":        render.ReplaySummary{FirstUnreadable: []render.BadLine{}, Keys: []render.ReplayKey{}, Skipped: []render.SkippedOfRule{}, Notes: []string{}, Enforced: noEffect(), DryRun: noEffect()},
	}
}

func TestHTTPGolden(t *testing.T) {
	for name, view := range httpViews() {
		t.Run(name, func(t *testing.T) {
			golden.Check(t, name+".table", write(t, render.Table, view))
			golden.Check(t, name+".json", write(t, render.JSON, view))
		})
	}
}

func ms(n int) render.Milliseconds {
	return render.Milliseconds(n) * render.Milliseconds(time.Millisecond)
}

func delayed() render.Explanation {
	return render.Explanation{
		Limit: "10r/s", Unit: "requests", Burst: 20, AtOnce: 21, Interval: 0.1, Refill: 2.1, InSecond: 31, InMinute: 621,
		PerSecond: 10, Algorithm: "nginx", Prompt: 9, LongestDelay: 1.2, Notes: []string{},
	}
}

func windowed() render.Explanation {
	return render.Explanation{
		Limit: "60r/m", Unit: "requests", AtOnce: 60, Interval: 1, Refill: 60, InSecond: 120, InMinute: 120,
		PerSecond: 1, Algorithm: "window", Prompt: 60, Notes: []string{},
	}
}

// limitsInForce has one of each wording.
func limitsInForce() []render.LimitInForce {
	return []render.LimitInForce{
		{Zone: "a", Key: "ip", Algorithm: "leaky", Rate: "10r/s", Burst: 20, Delay: 8, Cost: 1, AtOnce: 21, Prompt: 9, Interval: ms(100)},
		{Zone: "b", Key: "ip and path", Algorithm: "leaky", Rate: "5r/m", Burst: 5, Delay: 5, Cost: 1, AtOnce: 6, Prompt: 6, Interval: ms(12000)},
		{Zone: "c", Algorithm: "nginx", Rate: "1r/s", Cost: 1, AtOnce: 1, Prompt: 1, Interval: ms(1000)},
		{Zone: "d", Key: "ip", Algorithm: "sketch", Rate: "1r/s", Burst: 3, Cost: 2, AtOnce: 2, Interval: ms(2000)},
		{Zone: "e", Key: "header Appid", Algorithm: "window", Rate: "60r/m", Cost: 1, AtOnce: 60, Prompt: 60, Interval: ms(1000), Window: ms(60000)},
		{Zone: "f", Key: "ip", Algorithm: "sliding", Rate: "100000r/h", Cost: 1, AtOnce: 100000, Prompt: 100000, Interval: ms(36), Window: ms(3600000)},
		{Zone: "g", Key: "ip", Algorithm: "concurrent", Cost: 1, AtOnce: 1, Prompt: 1},
	}
}

// TestOverridesOfALimit: what an override means stands below the limit, a few of them and how many more there are.
func TestOverridesOfALimit(t *testing.T) {
	limits := limitsInForce()
	var overridden []render.OverriddenLimit
	for _, i := range []int{0, 0, 1, 0, 4, 5, 6} {
		overridden = append(overridden, render.OverriddenLimit{Value: "gold-" + strconv.Itoa(len(overridden)+1), Limit: limits[i]})
	}
	for want, some := range map[string][]render.OverriddenLimit{
		"": nil,
		"     gold-1, gold-2: one each 100ms\n     gold-3: one each 12s\n     gold-4: one each 100ms\n" +
			"     gold-5: 60 requests in 1m\n     and 2 more\n": overridden,
		"     gold-6: 100k requests in any 1h\n     gold-7: 1 request under way at a time\n": overridden[5:],
	} {
		c := check(1)
		l := limits[0]
		l.Overrides = some
		c.InForce.Rules = []render.RuleInForce{{Limits: []render.LimitInForce{l}, Status: 429}}
		_, got, _ := strings.Cut(string(write(t, render.Table, c)), l.String()+"\n")
		got, _, _ = strings.Cut(got, "   beyond")
		if got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
}

func check(processes int) render.Check {
	return render.Check{
		File: "headgate.yaml", Valid: true, Errors: []render.Problem{},
		Warnings: []render.Problem{{File: "headgate.yaml", Line: 4, Column: 5, Path: "http.zones.x", Text: "no rule uses the zone", Words: "headgate.yaml:4:5: http.zones.x: no rule uses the zone"}},
		InForce: &render.InForce{
			Sections: []render.SectionInForce{},
			Client:   "the address of the TCP peer; IPv4 by /32, IPv6 by /64", Allow: []string{"192.0.2.0/24", "2001:db8::1"},
			Headers: "none (off)", Processes: processes,
			Zones: []render.ZoneInForce{
				{Name: "a", Key: []string{"ip", "header:Appid"}, Limit: "10r/s", Algorithm: "leaky", MaxKeys: 100000, IPv4Prefix: 32, IPv6Prefix: 64, Allow: 1, Used: true, Overrides: []render.OverrideInForce{{Value: "192.0.2.0/24, gold", Rate: "50r/s"}, {Value: "::1, gold", Rate: "50r/s"}}},
				{Name: "g", Key: []string{"const:all"}, Limit: "1 at a time", Algorithm: "concurrent", Overrides: []render.OverrideInForce{{Value: "x", Concurrent: 2}}},
			},
			Rules: []render.RuleInForce{
				{Name: "login", Match: "host h, path /login, method POST", Limits: limitsInForce()[:2], Status: 429, Continue: true},
				{Name: "rule 2", Match: "path /health", Limits: []render.LimitInForce{}, Status: 429},
				{Name: "rule 3", Match: "every request", Limits: limitsInForce()[2:], Status: 503, DryRun: true},
			},
		},
	}
}

// checkSections has sections before the one of HTTP.
func checkSections() render.Check {
	c := check(1)
	kernel := render.SectionInForce{Name: "kernel"}
	kernel.Add("interfaces", "eth0")
	kernel.Add("rule", "192.0.2.0/24: all is dropped")
	admin := render.SectionInForce{Name: "admin"}
	admin.Add("socket", "/run/headgate/admin.sock, mode 0600")
	c.InForce.Sections = []render.SectionInForce{kernel, admin}
	return c
}

func wrongFile() render.Check {
	return render.Check{
		File: "headgate.yaml", Warnings: []render.Problem{},
		Errors: []render.Problem{{File: "headgate.yaml", Line: 4, Column: 25, Path: "http.zones.a.rate", Text: `unknown unit "kps"`, Words: `headgate.yaml:4:25: http.zones.a.rate: unknown unit "kps"`}},
	}
}

func explained() render.ExplainedRequest {
	rules := check(1).InForce.Rules
	never := render.ExplainedRequest{
		Client: "203.0.113.7", ClientFrom: "header",
		Rules: []render.ExplainedRule{
			{RuleInForce: rules[0], Matches: true}, {RuleInForce: rules[1]},
			{RuleInForce: rules[2], Matches: true}, {RuleInForce: rules[2], Matches: true},
		},
		Limits: []render.ExplainedLimit{
			{Rule: "login", Key: "203.0.113.7", Limit: limitsInForce()[0], Override: true},
			{Rule: "rule 3", Key: "203.0.113.7, /x", Limit: limitsInForce()[1], DryRun: true},
		},
		Skipped: []render.SkippedLimit{{"rule 3", "e", "absent"}, {"rule 3", "f", "unknown"}, {"rule 3", "g", "exempt"}},
	}
	after := ms(100)
	never.Instant = render.AtOnce{
		Passed:  21,
		Delayed: &render.DelayedAtOnce{Number: 10, Rule: "login", Zone: "a", Delay: after},
		DryRun:  &render.DelayedAtOnce{Number: 7, Rule: "rule 3", Zone: "b"},
		Refused: &render.RefusedAtOnce{Number: 22, Rule: "login", Zone: "a", Status: 429, RetryAfter: &after},
	}
	return never
}

func notLimited() render.ExplainedRequest {
	return render.ExplainedRequest{
		Client: "unknown", ClientFrom: "peer", Limits: []render.ExplainedLimit{}, Skipped: []render.SkippedLimit{},
		Rules:   []render.ExplainedRule{{RuleInForce: check(1).InForce.Rules[1], Matches: true}},
		Instant: render.AtOnce{Passed: 10000},
	}
}

func noEffect() render.ReplayEffect {
	return render.ReplayEffect{By: []render.ReplayBy{}, TopClients: []render.ReplayClient{}}
}

func replayed() render.ReplaySummary {
	return render.ReplaySummary{
		Requests: 1_000_000, Lines: 1_000_009, NoRequest: 1, Unreadable: 8,
		FirstUnreadable: []render.BadLine{{Line: 3, Reason: "not JSON"}, {Line: 70, Reason: "t_ms: is lacking"}},
		Interrupted:     true, First: ms(-1), Last: ms(199785), Span: ms(199786), Exempt: 12,
		Enforced: render.ReplayEffect{
			Refused: 16704, RefusedShare: 0.016704, Delayed: 3, DelayedShare: 0.000003, LongestDelay: ms(1200), TotalDelay: ms(1500),
			By:      []render.ReplayBy{{Rule: "login", Zone: "perip", Refused: 16000}, {Rule: "rule 2", Zone: "all", Refused: 704, Delayed: 3}},
			Clients: 262144, MoreClients: true,
			TopClients: []render.ReplayClient{{Client: "203.0.113.7", Refused: 900}, {Client: "2001:db8::/64", Refused: 89, TooMany: 9}},
		},
		DryRun: render.ReplayEffect{
			Delayed: 999_999, DelayedShare: 0.999999, LongestDelay: ms(1), TotalDelay: ms(999_999),
			By: []render.ReplayBy{{Rule: "rule 3", Zone: "b", Delayed: 999_999}}, TopClients: []render.ReplayClient{},
		},
		Keys: []render.ReplayKey{
			{Zone: "perip", Key: "203.0.113.7", Requests: 1000, Over: 900},
			{Zone: "perpath", Key: "203.0.113.7, /login", Requests: 100, TooMany: 9, Over: 3},
		},
		Skipped: []render.SkippedOfRule{{Rule: "login", Absent: 3, Unknown: 2, Exempt: 1}},
		Notes:   []string{"one", "two"},
	}
}

func replayedLog() render.ReplaySummary {
	from := time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC)
	to := from.Add(time.Hour)
	s := replayed()
	s.First, s.Last, s.Span = render.Milliseconds(from.UnixNano()), render.Milliseconds(to.UnixNano()), ms(3600000)
	s.FirstAt, s.LastAt = &from, &to
	s.Enforced, s.DryRun = noEffect(), noEffect()
	s.Enforced.Refused, s.Enforced.RefusedShare, s.Enforced.Clients = 1, 0.000001, 1
	s.Enforced.By = []render.ReplayBy{{Rule: "rule 1", Zone: "perip", Refused: 1}}
	s.Interrupted, s.Unreadable, s.NoRequest, s.Exempt, s.Skipped, s.Keys = false, 0, 0, 0, []render.SkippedOfRule{}, []render.ReplayKey{}
	s.FirstUnreadable, s.Notes = []render.BadLine{}, []string{}
	return s
}

// A line of a replay begins with the fields in this order, and says exactly what it is told.
func TestReplayedLine(t *testing.T) {
	for want, r := range map[string]render.Replayed{
		`{"t_ms":0,"allowed":true,"delay_ms":0,"status":200,"dry_run":false,"zone":"perip","excess":0.0,"rule":"rule 1","key":"k","client":"::1","line":1}`: {
			Allowed: true, Status: 200, Zone: "perip", Rule: "rule 1", Key: "k", Client: "::1", Line: 1,
		},
		`{"t_ms":-1.5,"allowed":true,"delay_ms":0.000001,"status":200,"dry_run":false,"zone":"","excess":0.0,"rule":"","key":"","client":"","line":2}`: {
			At: -1500 * time.Microsecond, Allowed: true, Delay: 1, Status: 200, Line: 2,
		},
		`{"t_ms":-9223372036854.775808,"allowed":false,"delay_ms":0,"status":429,"dry_run":false,"zone":"\"","excess":20.045,"rule":"ä","key":"\u0001","client":"","line":3,"retry_after_ms":100}`: {
			At: -1 << 63, Status: 429, Zone: `"`, Excess: 20045, Rule: "ä", Key: "\x01", Line: 3, RetryAfter: 100 * time.Millisecond,
		},
		`{"t_ms":10,"allowed":false,"delay_ms":0,"status":599,"dry_run":false,"zone":"z","excess":18446744073709551.615,"rule":"","key":"","client":"","line":18446744073709551615,"retry_after_ms":null}`: {
			At: 10 * time.Millisecond, Status: 599, Zone: "z", Excess: 1<<64 - 1, Line: 1<<64 - 1, RetryAfter: -1,
		},
		`{"t_ms":0,"allowed":true,"delay_ms":0,"status":200,"dry_run":true,"zone":"z","excess":1.5,"rule":"","key":"","client":"","line":4,"would":"refuse"}`: {
			Allowed: true, Status: 200, DryRun: true, Zone: "z", Excess: 1500, Line: 4, WouldRefuse: true,
		},
		`{"t_ms":0,"allowed":true,"delay_ms":0,"status":200,"dry_run":true,"zone":"z","excess":1.5,"rule":"","key":"","client":"","line":4,"would":"delay","would_delay_ms":12.5}`: {
			Allowed: true, Status: 200, DryRun: true, Zone: "z", Excess: 1500, Line: 4, WouldDelay: 12500 * time.Microsecond,
		},
	} {
		got := string(r.AppendJSON([]byte("x")))
		if got != "x"+want+"\n" {
			t.Errorf("got  %swant %s", got[1:], want)
		}
		if !json.Valid([]byte(got[1:])) {
			t.Errorf("not JSON: %s", got[1:])
		}
	}
}
