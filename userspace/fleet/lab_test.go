package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
)

// longest is how long a test waits for what takes milliseconds.
const longest = 30 * time.Second

// fakeKernel is a kernel's limiter.
type fakeKernel struct {
	mu        sync.Mutex
	changed   chan struct{} // closed at each change
	rules     []Rule
	at        time.Time // when they were set
	lifted    []netip.Prefix
	calls     int
	err       error                       // of SetFleet
	askErr    error                       // of Protected
	refuses   func(Rule) bool             // a list with such a rule
	protected func(p netip.Prefix) string // nil for nothing
	asked     map[netip.Prefix]int        // what protects it
	watch     func([]Rule)                // of each list that it takes; nil for none
	busy      chan struct{}               // SetFleet waits for it if not nil
}

var errRefused = errors.New("no such rule")

func (k *fakeKernel) SetFleet(rules []Rule) error {
	if k.busy != nil {
		<-k.busy
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	defer k.tell()
	k.calls++
	if k.err != nil {
		return k.err
	}
	if k.refuses != nil && slices.ContainsFunc(rules, k.refuses) {
		return errRefused
	}
	if k.watch != nil {
		k.watch(rules)
	}
	k.rules, k.at = slices.Clone(rules), time.Now()
	return nil
}

func (k *fakeKernel) Lift(prefixes []netip.Prefix) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		k.lifted = append(k.lifted, prefixes...)
	}
	return k.err
}

func (k *fakeKernel) Protected(p netip.Prefix) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.asked == nil {
		k.asked = map[netip.Prefix]int{}
	}
	k.asked[p]++
	if k.protected == nil || k.askErr != nil {
		return "", k.askErr
	}
	return k.protected(p), nil
}

// tell wakes who waits. mu must be held.
func (k *fakeKernel) tell() {
	if k.changed != nil {
		close(k.changed)
		k.changed = nil
	}
}

func (k *fakeKernel) change(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
}

// inForce returns the rules that have not ended, in order: "block 192.0.2.1/32".
func (k *fakeKernel) inForce() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []string
	for _, r := range k.rules {
		if r.For == 0 || time.Since(k.at) < r.For {
			all = append(all, fmt.Sprintf("%s %s", r.Action, r.Prefix))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// left returns how long the rule of a prefix holds.
func (k *fakeKernel) left(prefix string) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.rules {
		if r.Prefix.String() == prefix {
			return r.For - time.Since(k.at)
		}
	}
	return 0
}

// await waits until is is so after some call of SetFleet.
func (k *fakeKernel) await(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	deadline := time.After(longest)
	for {
		k.mu.Lock()
		if k.changed == nil {
			k.changed = make(chan struct{})
		}
		changed := k.changed
		k.mu.Unlock()
		if is() {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			tb.Fatalf("not so within %v: %s; in force: %.500s", longest, what, k.inForce())
		}
	}
}

// awaitRules waits until these are the rules in force.
func (k *fakeKernel) awaitRules(tb testing.TB, want string) {
	tb.Helper()
	k.await(tb, "rules "+want, func() bool { return k.inForce() == want })
}

// text is a log that may be read while it is written.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *text) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *text) count(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Count(w.b.String(), what)
}

// machine is a member under test.
type machine struct {
	*Fleet
	tb      testing.TB
	kernel  *fakeKernel
	conn    conn
	log     *text
	sizes   chan int
	mu      sync.Mutex
	events  []event.Event
	cancel  context.CancelFunc
	ended   chan struct{}
	started time.Time
}

// conn is a Conn of the tests that has to know the scripts.
type conn interface {
	Conn
	know(s scripts)
}

// usual is what most tests begin with.
func usual(name string) Options {
	return Options{
		Redis: config.Redis{Prefix: "test", Name: name}, Version: "v1",
		Config: config.Fleet{HandDown: true, Follow: true, MaxPublished: 1000, MaxRules: 100_000},
	}
}

// newMachine returns a member that does not run.
func newMachine(tb testing.TB, c conn, o Options) *machine {
	m := &machine{tb: tb, conn: c, log: &text{}, sizes: make(chan int, 100), started: time.Now()}
	if m.kernel, _ = o.Kernel.(*fakeKernel); m.kernel == nil {
		m.kernel = &fakeKernel{}
		o.Kernel = m.kernel
	}
	o.Conn, o.Log = c, slog.New(slog.NewTextHandler(m.log, nil))
	o.Publish = func(e event.Event) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.events = append(m.events, e)
	}
	o.Resized = func(n int) { m.sizes <- n }
	m.Fleet = New(o)
	c.know(m.scripts)
	return m
}

// run lets the member run until stop, or the end of the test.
func (m *machine) run() *machine {
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel, m.ended = cancel, make(chan struct{})
	go func() { defer close(m.ended); m.Run(ctx) }()
	m.tb.Cleanup(m.stop)
	return m
}

func (m *machine) stop() {
	m.cancel()
	<-m.ended
}

// told returns the events of a kind.
func (m *machine) told(kind event.Kind) (all []event.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.events {
		if e.Kind == kind {
			all = append(all, e)
		}
	}
	return all
}

// set publishes rules as somebody does, and fails the test if they are not.
func (m *machine) set(rules ...Rule) {
	m.tb.Helper()
	if err := m.Set(m.tb.Context(), rules); err != nil {
		m.tb.Fatal(err)
	}
}

func (m *machine) unset(prefixes ...string) []netip.Prefix {
	m.tb.Helper()
	var all []netip.Prefix
	for _, p := range prefixes {
		all = append(all, netip.MustParsePrefix(p))
	}
	had, err := m.Unset(m.tb.Context(), all)
	if err != nil {
		m.tb.Fatal(err)
	}
	return had
}

func block(prefix string, period time.Duration) Rule {
	return Rule{Prefix: netip.MustParsePrefix(prefix), Action: config.Block, For: period}
}

func allow(prefix string, period time.Duration) Rule {
	return Rule{Prefix: netip.MustParsePrefix(prefix), Action: config.Allow, For: period}
}

// blocks returns n rules for addresses of 10.NET.0.0/16.
func blocks(net, n int) (rules []Rule) {
	for i := range n {
		rules = append(rules, block(fmt.Sprintf("10.%d.%d.%d/32", net, i/256, i%256), time.Hour))
	}
	return rules
}
