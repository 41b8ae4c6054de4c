package agent_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/test/transcript"
	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/agent"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
	"github.com/headgate/headgate/userspace/fleet"
	"github.com/headgate/headgate/userspace/handdown"
	"github.com/headgate/headgate/userspace/metrics"
)

// lab is an agent that runs, its files, its kernel and what it logs.
type lab struct {
	t       *testing.T
	dir     string
	agent   *agent.Agent
	kernel  *kernel
	log     *transcript.Buffer // what the agent writes to stderr
	started chan struct{}
	stop    context.CancelFunc
	ended   chan error
	client  map[string]*http.Client // by socket
}

// newLab returns a lab whose agent has the configuration, in which DIR stands for the lab's directory.
func newLab(t *testing.T, text string) *lab {
	t.Helper()
	dir, err := os.MkdirTemp("", "hg") // that of the test is too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l := &lab{
		t: t, dir: dir, kernel: new(kernel), log: new(transcript.Buffer), started: make(chan struct{}),
		ended: make(chan error, 1), client: make(map[string]*http.Client),
	}
	l.write(text)
	l.agent = agent.New(agent.Options{
		Path: l.path("headgate.yaml"), Version: "v1.2.3", Stderr: l.log,
		Kernel:  func(*slog.Logger) (agent.Kernel, error) { return l.kernel, nil },
		Started: func(*config.File) error { close(l.started); return nil },
	})
	return l
}

func (l *lab) path(name string) string { return filepath.Join(l.dir, name) }

// write replaces the configuration in one step.
func (l *lab) write(text string) {
	l.t.Helper()
	name := l.path("headgate.yaml")
	if err := os.WriteFile(name+".new", []byte(strings.ReplaceAll(text, "DIR", l.dir)), 0o600); err != nil {
		l.t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		l.t.Fatal(err)
	}
}

// forever is longer than anything takes that ends at all.
const forever = time.Minute

// start runs the agent until the test ends.
func (l *lab) start() {
	l.t.Helper()
	var ctx context.Context
	ctx, l.stop = context.WithCancel(context.Background())
	go func() { l.ended <- l.agent.Run(ctx) }()
	l.t.Cleanup(l.end)
	select {
	case <-l.started:
	case err := <-l.ended:
		l.ended <- err
		l.t.Fatalf("the agent ended: %v\n%s", err, l.log)
	}
}

// end ends the agent; it may be called twice.
func (l *lab) end() {
	l.t.Helper()
	for _, c := range l.client {
		c.CloseIdleConnections()
	}
	l.stop()
	select {
	case err := <-l.ended:
		if err != nil {
			l.t.Errorf("the agent ended: %v\n%s", err, l.log)
		}
	case <-time.After(forever):
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 2)
		l.t.Errorf("the agent does not end\n%s", l.log)
	}
	select {
	case l.ended <- nil:
	default: // it has ended after all
	}
}

// reload is a reload that must succeed.
func (l *lab) reload(text string) {
	l.t.Helper()
	l.write(text)
	if err := l.agent.Reload(); err != nil {
		l.t.Fatal(err)
	}
}

// get sends a request to a socket in the lab's directory.
func (l *lab) get(socket, path string, header ...string) *response {
	l.t.Helper()
	res, err := l.try(socket, path, header...)
	if err != nil {
		l.t.Fatal(err)
	}
	return res
}

func (l *lab) try(socket, path string, header ...string) (*response, error) {
	r, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, "http://headgate.test"+path, nil)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	res, err := l.clientOf(socket).Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return &response{res.StatusCode, res.Header, string(body)}, err
}

// response is a response that was read to its end.
type response struct {
	StatusCode int
	Header     http.Header
	body       string
}

func (l *lab) clientOf(socket string) *http.Client {
	if l.client[socket] == nil {
		l.client[socket] = &http.Client{Timeout: forever, Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", l.path(socket))
			},
		}}
	}
	return l.client[socket]
}

// statuses returns the status of n requests.
func (l *lab) statuses(n int, header ...string) map[int]int {
	l.t.Helper()
	all := make(map[int]int)
	for range n {
		all[l.get("web.sock", "/", header...).StatusCode]++
	}
	return all
}

func bodyOf(res *response) string { return res.body }

// backend is a server that answers as it is told.
func backend(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }

// eventually waits until something is so. The time is only for a test that fails.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within half a minute: %s", what)
		}
	}
}

// kernel is a kernel's limiter that notes what it is told.
type kernel struct {
	mu        sync.Mutex
	refuse    error // of the next Apply
	applied   []config.Kernel
	factor    float64
	enforced  []handdown.Rule
	fleet     []fleet.Rule // that SetFleet was told last
	protected netip.Prefix
	missing   []string // interfaces that there are not
	detached  []string // by hand, until the next Apply
	unseen    error    // of Interfaces
	following int
	closed    int
	verified  map[netip.Addr]time.Duration
}

func (k *kernel) do(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
}

func (k *kernel) last() (c config.Kernel, times int) {
	k.do(func() {
		if times = len(k.applied); times > 0 {
			c = k.applied[times-1]
		}
	})
	return c, times
}

func (k *kernel) rules() (all []handdown.Rule) {
	k.do(func() { all = append(all, k.enforced...) })
	return all
}

func (k *kernel) Check(config.Kernel) error { return nil }

func (k *kernel) Apply(c config.Kernel) (err error) {
	k.do(func() {
		if err, k.refuse = k.refuse, nil; err == nil {
			k.applied, k.detached = append(k.applied, c), nil
		}
	})
	return err
}

func (k *kernel) Scale(factor float64) error {
	k.do(func() { k.factor = factor })
	return nil
}

func (k *kernel) Follow(ctx context.Context, tell func(event.Event)) error {
	k.do(func() { k.following++ })
	tell(event.Event{Kind: event.Attached, Name: "lab0"})
	<-ctx.Done()
	k.do(func() { k.following-- })
	return nil
}

// Interfaces says that all of the file are attached to, but those that are missing or were detached by hand.
func (k *kernel) Interfaces() (all []metrics.Interface, err error) {
	k.do(func() {
		if len(k.applied) == 0 {
			return
		}
		for _, name := range k.applied[len(k.applied)-1].Interfaces {
			i := metrics.Interface{Name: name, Missing: slices.Contains(k.missing, name)}
			if i.Attached = !i.Missing && !slices.Contains(k.detached, name); i.Attached {
				i.Mode = "native"
			}
			all = append(all, i)
		}
	})
	return all, k.unseen
}

func (k *kernel) Snapshot() (metrics.Kernel, error) {
	return metrics.Kernel{Reasons: []metrics.Reason{{Verdict: "drop", Reason: "blocked", Packets: 7}}}, nil
}

func (k *kernel) Close() error {
	k.do(func() { k.closed++ })
	return nil
}

func (k *kernel) Enforce(rules []handdown.Rule) error {
	k.do(func() { k.enforced = append(k.enforced, rules...) })
	return nil
}

func (k *kernel) Protected(p netip.Prefix) (reason string, err error) {
	k.do(func() {
		if k.protected.IsValid() && k.protected.Overlaps(p) {
			reason = "an allow rule"
		}
	})
	return reason, nil
}

func (k *kernel) Enforced(p netip.Prefix) (bool, error) {
	return slices.ContainsFunc(k.rules(), func(r handdown.Rule) bool { return r.Prefix == p }), nil
}

func (k *kernel) FleetRule(p netip.Prefix) (rule handdown.Rule, err error) {
	k.do(func() {
		for _, r := range k.fleet {
			if r.Prefix == p && r.Action != config.Allow {
				rule = handdown.Rule{Prefix: p, Action: r.Action, Limit: r.Limit, For: r.For}
			}
		}
	})
	return rule, nil
}

func (k *kernel) SetFleet(rules []fleet.Rule) error {
	k.do(func() { k.fleet = slices.Clone(rules) })
	return nil
}

func (k *kernel) Lift(prefixes []netip.Prefix) error {
	k.do(func() {
		k.enforced = slices.DeleteFunc(k.enforced, func(r handdown.Rule) bool { return slices.Contains(prefixes, r.Prefix) })
	})
	return nil
}

func (k *kernel) FleetRules() (rules []fleet.Rule, err error) {
	k.do(func() { rules = slices.Clone(k.fleet) })
	return rules, nil
}

func (k *kernel) Verify(addrs []netip.Addr, period time.Duration) error {
	k.do(func() {
		if k.verified == nil {
			k.verified = make(map[netip.Addr]time.Duration)
		}
		for _, addr := range addrs {
			k.verified[addr] = period
		}
	})
	return nil
}

func (k *kernel) HandedDown() ([]handdown.Rule, error)           { return k.rules(), nil }
func (k *kernel) Rules() ([]admin.KernelRule, error)             { return nil, nil }
func (k *kernel) SetRule(config.PrefixRule, time.Duration) error { return nil }
func (k *kernel) Unset(p []netip.Prefix) ([]netip.Prefix, error) { return p, nil }
func (k *kernel) Policies() ([]admin.KernelPolicy, error)        { return nil, nil }
func (k *kernel) SetPolicy(config.Policy) error                  { return nil }
func (k *kernel) DeletePolicy(string) error                      { return nil }
func (k *kernel) Top(int) ([]admin.KernelSource, error)          { return nil, nil }
