package handdown

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
)

// fakeKernel is a kernel's limiter by the clock of the test.
type fakeKernel struct {
	mu        sync.Mutex
	rules     map[netip.Prefix]fakeRule
	made      []Rule // all that were ever made
	calls     int
	asked     int                         // whether a rule is there
	err       error                       // of all calls
	refuses   func(Rule) bool             // a batch with such a rule
	protected func(p netip.Prefix) string // nil for nothing
	busy      chan struct{}               // Enforce waits for it if not nil
	fleet     Rule                        // of the fleet, while it is not the zero Rule
}

type fakeRule struct {
	rule Rule
	end  time.Time
}

func (k *fakeKernel) Enforce(rules []Rule) error {
	if k.busy != nil {
		<-k.busy
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls++
	if k.err != nil {
		return k.err
	}
	if k.refuses != nil && slices.ContainsFunc(rules, k.refuses) {
		return errRefused
	}
	for _, r := range rules {
		k.made = append(k.made, r)
		if k.rules == nil {
			k.rules = make(map[netip.Prefix]fakeRule)
		}
		k.rules[r.Prefix] = fakeRule{r, time.Now().Add(r.For)}
	}
	return nil
}

func (k *fakeKernel) Protected(p netip.Prefix) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.protected == nil || k.err != nil {
		return "", k.err
	}
	return k.protected(p), nil
}

func (k *fakeKernel) Enforced(p netip.Prefix) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked++
	return k.fleet.Prefix == p || time.Now().Before(k.rules[p].end), k.err
}

func (k *fakeKernel) FleetRule(p netip.Prefix) (Rule, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fleet.Prefix != p {
		return Rule{}, k.err
	}
	return k.fleet, k.err
}

func (k *fakeKernel) HandedDown() (rules []Rule, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.rules {
		if left := time.Until(r.end); left > 0 {
			r.rule.For = left
			rules = append(rules, r.rule)
		}
	}
	return rules, k.err
}

func (k *fakeKernel) change(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
}

// blocked returns the prefixes that rules were made for, in order, each as often as there were.
func (k *fakeKernel) blocked() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := make([]string, len(k.made))
	for i, r := range k.made {
		all[i] = r.Prefix.String()
	}
	return all
}

// lab is a HandDown that runs, in a bubble whose time goes on only when the test lets it.
type lab struct {
	*testing.T
	*HandDown
	kernel *fakeKernel
	log    *bytes.Buffer // read it only when all is quiet
	mu     sync.Mutex
	events []event.Event
}

// usual is what most tests begin with.
func usual() config.HandDown {
	return config.HandDown{
		After: 3, Within: 10 * time.Second, Action: config.Block, For: time.Minute, Max: 10 * time.Minute,
		IPv4Prefix: 32, IPv6Prefix: 64, MaxRules: 100,
	}
}

// run runs f with a lab in a bubble.
func run(t *testing.T, o Options, f func(l *lab)) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{T: t, kernel: &fakeKernel{}, log: new(bytes.Buffer)}
		if k, ok := o.Kernel.(*fakeKernel); ok {
			l.kernel = k
		}
		if o.Config.After == 0 {
			o.Config = usual()
		}
		o.Kernel, o.Log = l.kernel, slog.New(slog.NewTextHandler(l.log, nil))
		o.Publish = func(e event.Event) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.events = append(l.events, e)
		}
		l.HandDown = New(o)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); l.HandDown.Run(ctx) }()
		synctest.Wait()
		f(l)
		cancel()
		<-ended
	})
}

// offends has a source offend so often at one moment, and waits until all is done that follows at once.
func (l *lab) offends(addr string, times int) {
	for range times {
		l.Offend(Offence{Addr: netip.MustParseAddr(addr), Origin: HTTP, Rule: "rule 1", Zone: "perip"})
	}
	synctest.Wait()
}

// pass lets time go on.
func (l *lab) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (l *lab) wantBlocked(want ...string) {
	l.Helper()
	if got := l.kernel.blocked(); !slices.Equal(got, want) {
		l.Errorf("rules were made for %v, want %v", got, want)
	}
}

// wantSpared checks all reasons that something was spared for.
func (l *lab) wantSpared(want map[Reason]uint64) {
	l.Helper()
	got := l.Counters().Spared
	maps.DeleteFunc(got, func(_ Reason, n uint64) bool { return n == 0 })
	if !maps.Equal(got, want) {
		l.Errorf("spared: %v, want %v", got, want)
	}
}

// wantLog checks how often the log has something.
func (l *lab) wantLog(text string, times int) {
	l.Helper()
	if n := strings.Count(l.log.String(), text); n != times {
		l.Errorf("the log has %q %d times, want %d:\n%s", text, n, times, l.log)
	}
}
