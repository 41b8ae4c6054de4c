package metrics_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/headgate/headgate/test/golden"
	"github.com/headgate/headgate/userspace/adaptive"
	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/metrics"
	"github.com/headgate/headgate/userspace/ruleset"
)

// full has every source, with a number of its own for each counter.
func full() metrics.Sources {
	n := uint64(0)
	next := func() uint64 { n++; return n }
	counts := func() ruleset.Counts {
		return ruleset.Counts{
			Allowed: next(), Delayed: next(), Refused: next(), WouldDelay: next(), WouldRefuse: next(),
			Absent: next(), Unknown: next(), Exempt: next(), Spared: next(), Unavailable: next(),
		}
	}
	web := ruleset.Counters{
		Requests: next(), Exempt: next(),
		Rules: []ruleset.RuleCounters{{Rule: "login", Counts: counts()}, {Rule: "rule 2", Counts: counts()}},
		Zones: []ruleset.ZoneCounters{{Zone: "perip", Counts: counts(), Keyed: keyed.Counters{
			Keys: next(), EvictedDrained: next(), EvictedLive: next(),
		}}},
	}
	kernel := metrics.Kernel{
		Interfaces: []metrics.Interface{{Name: "eth0", Mode: "native", Attached: true}, {Name: "eth1"}},
		Policies:   []metrics.Policy{{"default", "pass", next(), next()}, {"default", "drop", next(), next()}},
		Rules:      []metrics.Rules{{"block", "handdown", 3}, {"allow", "config", 1}, {"limit", "cli", 0}},
		Sources:    12, MaxSources: 1 << 20, Verified: 7, ColdPackets: 88_888, Inserts: 77_777, Deferred: 555, MemoryBytes: 149_422_080,
	}
	for _, r := range []struct{ verdict, reason string }{
		{"pass", "under_limit"}, {"drop", "over_packet_limit"}, {"drop", "blocked"}, {"would_drop", "over_byte_limit"},
	} {
		kernel.Reasons = append(kernel.Reasons, metrics.Reason{r.verdict, r.reason, next(), next()})
	}
	hand := metrics.HandDown{
		Offences:   []metrics.Count{{"http", next()}, {"nginx", next()}, {"report", next()}},
		HandedDown: []metrics.Count{{"block", next()}, {"limit", next()}},
		Spared:     []metrics.Count{{"allowed", next()}, {"trusted_proxy", next()}, {"private", next()}},
		Rules:      3, MaxRules: 100_000, Lost: next(), Evicted: next(), Late: next(), Doubtful: next(),
		Logs: []metrics.Log{{Path: "/var/log/nginx/error.log", Readable: true}, {Path: "/var/log/nginx/other.log"}},
	}
	store := metrics.Store{
		Health: "partly", RoundTrip: 1250 * time.Microsecond, InFlight: 6, Calls: next(), RoundTrips: next(),
		Timeouts: next(), Errors: next(), Busy: next(), LeftAlone: next(), Opened: next(), Probes: next(),
		KnownRefusals: next(), FromBatch: next(), Batches: next(),
		Zones: []metrics.StoreZone{
			{"perip", ruleset.SharedCounts{Redis: next(), Local: next(), Open: next(), Closed: next(), RefusedLocally: next()}},
			{"login", ruleset.SharedCounts{Redis: next()}},
		},
	}
	fleet := metrics.Fleet{
		Members: 3, Seen: time.UnixMilli(1_790_000_100_250), Rules: 40, MaxRules: 100_000, Spared: 4,
		Published: next(), Withheld: next(), Received: next(), Behind: next(), Delay: 12 * time.Millisecond,
	}
	return metrics.Sources{
		Build:    metrics.Build{Version: "1.2.3", Revision: "27d4ac5"},
		HTTP:     func() ruleset.Counters { return web },
		Kernel:   func() (*metrics.Kernel, error) { return &kernel, nil },
		HandDown: func() *metrics.HandDown { return &hand },
		Verify:   func() *metrics.Verify { return &metrics.Verify{Told: 88, Lost: 3, Failed: 2} },
		Store:    func() *metrics.Store { return &store },
		Fleet:    func() *metrics.Fleet { return &fleet },
		Adaptive: func() *adaptive.State {
			return &adaptive.State{Change: adaptive.Change{
				Factor: 0.7, Was: 1, Health: adaptive.Unhealthy, Observed: true, Signal: 0.3, Target: 0.2,
			}, Raised: 5, Lowered: 2}
		},
		Servers: func() []metrics.Server {
			return []metrics.Server{{"http://127.0.0.1:9000", true, 4, 1000, 10}, {"http://127.0.0.1:9001", false, 0, 20, 20}}
		},
		Listeners: func() []metrics.Listener {
			return []metrics.Listener{{"0.0.0.0:8080", 7, 900}, {"unix:/run/x.sock", 1, 2}}
		},
		LostEvents: func() uint64 { return 99 },
		Config: func() metrics.Config {
			return metrics.Config{Successes: 3, Failures: 1, Failed: true, Since: time.UnixMilli(1_790_000_000_500), SHA256: "e3b0c442"}
		},
	}
}

// gather returns what is exported of headgate, by name.
func gather(t *testing.T, m *metrics.Metrics) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := metrics.Registry(m).Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]*dto.MetricFamily)
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "headgate_") {
			all[f.GetName()] = f
		}
	}
	return all
}

// exposition returns what a scrape of m shows of headgate.
func exposition(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	families, err := metrics.Registry(m).Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	e := expfmt.NewEncoder(&b, expfmt.NewFormat(expfmt.TypeTextPlain).WithEscapingScheme(model.NoEscaping))
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "headgate_") {
			continue
		}
		if err := e.Encode(f); err != nil {
			t.Fatal(err)
		}
	}
	return strings.ReplaceAll(b.String(), runtime.Version(), "go1.x")
}

func TestExposition(t *testing.T) {
	m := metrics.New(full())
	m.ObserveUpstream(200, 30*time.Millisecond)
	m.ObserveUpstream(503, 2*time.Second)
	golden.Check(t, "full", []byte(exposition(t, m)))
}

// Whatever status a backend answers with, the classes are the same.
func TestClassesOfStatus(t *testing.T) {
	m := metrics.New(full())
	for status, class := range map[int]string{
		-1: "none", 0: "none", 99: "none", 101: "1xx", 200: "2xx", 304: "3xx", 499: "4xx", 599: "5xx", 600: "none", 1 << 40: "none",
	} {
		before := observations(t, m)
		m.ObserveUpstream(status, time.Second)
		before[class]++
		if diff := cmp.Diff(before, observations(t, m)); diff != "" {
			t.Errorf("status %d (-want +got):\n%s", status, diff)
		}
	}
}

// observations returns how many answers are in the histogram of each class.
func observations(t *testing.T, m *metrics.Metrics) map[string]uint64 {
	n := make(map[string]uint64)
	for _, s := range gather(t, m)["headgate_upstream_response_duration_seconds"].Metric {
		n[label(s, "class")] = s.GetHistogram().GetSampleCount()
	}
	return n
}

func TestLint(t *testing.T) {
	problems, err := testutil.GatherAndLint(metrics.Registry(metrics.New(full())))
	if err != nil || len(problems) != 0 {
		t.Errorf("%v %v", problems, err)
	}
}

// Without sources there is what is always known, and no zeros of what there is not.
func TestWithoutSources(t *testing.T) {
	got := gather(t, metrics.New(metrics.Sources{}))
	if len(got) != 1 || got["headgate_build_info"] == nil {
		t.Errorf("%v", got)
	}
}

// Sections that a reload took away have no series, and no zeros either.
func TestSourcesThatReturnNothing(t *testing.T) {
	got := gather(t, metrics.New(metrics.Sources{
		Kernel:    func() (*metrics.Kernel, error) { return nil, nil },
		HandDown:  func() *metrics.HandDown { return nil },
		Verify:    func() *metrics.Verify { return nil },
		Store:     func() *metrics.Store { return nil },
		Fleet:     func() *metrics.Fleet { return nil },
		Adaptive:  func() *adaptive.State { return nil },
		Listeners: func() []metrics.Listener { return nil },
	}))
	if len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// Every family that is described is exported with all sources: no help text for nothing.
func TestEveryFamilyIsExported(t *testing.T) {
	got := gather(t, metrics.New(full()))
	for _, name := range metrics.Described() {
		if got[name] == nil {
			t.Errorf("%s is described and never exported", name)
		}
	}
	// The histogram is described by itself.
	if want := len(metrics.Described()) + 1; len(got) != want {
		t.Errorf("%d families, want %d", len(got), want)
	}
}

// A kernel that cannot be read takes nothing else with it, is counted, and logged twice: when it begins and ends.
func TestKernelFails(t *testing.T) {
	var logged bytes.Buffer
	s := full()
	s.Log = textLog(&logged)
	fails := true
	working := s.Kernel
	s.Kernel = func() (*metrics.Kernel, error) {
		if fails {
			return nil, errors.New("map cpu_counters: permission denied")
		}
		return working()
	}
	m := metrics.New(s)
	for scrape := 1; scrape <= 3; scrape++ {
		got := gather(t, m)
		wantValue(t, got, "headgate_scrape_errors_total", float64(scrape))
		wantValue(t, got, "headgate_kernel_up", 0)
		wantValue(t, got, "headgate_http_requests_total", 1)
		if got["headgate_kernel_packets_total"] != nil {
			t.Error("packets of a kernel that could not be read")
		}
	}
	fails = false
	got := gather(t, m)
	wantValue(t, got, "headgate_kernel_up", 1)
	wantValue(t, got, "headgate_scrape_errors_total", 3)
	want := `level=ERROR msg="the kernel's counters cannot be read: no metrics of them until they can" error="map cpu_counters: permission denied"
level=INFO msg="the kernel's counters can be read again"
`
	if logged.String() != want {
		t.Errorf("logged %s", &logged)
	}
}

func wantValue(t *testing.T, got map[string]*dto.MetricFamily, name string, want float64) {
	t.Helper()
	f := got[name]
	if f == nil || len(f.Metric) != 1 {
		t.Errorf("%s is not one series: %v", name, f)
		return
	}
	m := f.Metric[0]
	if value := m.GetCounter().GetValue() + m.GetGauge().GetValue(); value != want {
		t.Errorf("%s is %v, want %v", name, value, want)
	}
}

// Names that the configuration may have are written so that they can be read back, and two rules of one name are one series.
func TestHostileNames(t *testing.T) {
	names := []string{"a\"} 1\nheadgate_forged 1\n#", "\xff\xfe", "", " ", "日本", strings.Repeat("x", 10_000), "same", "same", "a\xffb"}
	c := ruleset.Counters{}
	for _, n := range names {
		c.Rules = append(c.Rules, ruleset.RuleCounters{Rule: n, Counts: ruleset.Counts{Refused: 1}})
	}
	s := metrics.Sources{
		HTTP:      func() ruleset.Counters { return c },
		Listeners: func() []metrics.Listener { return []metrics.Listener{{Name: ""}} },
	}
	m := metrics.New(s)
	refused := make(map[string]float64)
	for _, series := range gather(t, m)["headgate_http_rule_requests_total"].Metric {
		if label(series, "outcome") == "refused" {
			refused[label(series, "rule")] = series.GetCounter().GetValue()
		}
	}
	if len(refused) != len(names)-1 || refused["same"] != 2 || refused[""] != 1 || refused["a�b"] != 1 {
		t.Errorf("%v", refused)
	}
	r := httptest.NewRecorder()
	m.Handler().ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(r.Body.String()) {
		if strings.HasPrefix(line, "headgate_forged") {
			t.Errorf("forged: %q", line)
		}
	}
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.Label {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return "no label " + name
}
