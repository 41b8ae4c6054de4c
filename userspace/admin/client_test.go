package admin_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headgate/headgate/test/agentfake"
	"github.com/headgate/headgate/test/transcript"
	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/event"
)

// serve serves the API of a on a unix socket, and returns a client.
func serve(t *testing.T, h http.Handler) *admin.Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	return newClient(t, path, "")
}

func newClient(t *testing.T, address, tokenFile string) *admin.Client {
	t.Helper()
	c, err := admin.NewClient(address, tokenFile)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// checkCall fails unless a call returned what the agent has.
func checkCall[T any](t *testing.T, what string, want T) func(T, error) {
	return func(got T, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

// A client returns what the agent said, and the agent got what the client was asked to send.
func TestClient(t *testing.T) {
	a := &agentfake.Agent{WithKernel: true}
	c, ctx := serve(t, admin.NewHandler(a, admin.Options{})), t.Context()
	key := []string{"203.0.113.7", "\x00/ä&b=c\xff "}
	zone := a.Zones()[0]
	zone.Rate, zone.Changed = "20r/s", true
	rules, _ := a.Kernel().Rules()
	policies, _ := a.Kernel().Policies()
	top, _ := a.Kernel().Top(1)
	peeked, _ := a.Peek("perip", key[:1])
	keys, _ := a.TopKeys("perip", 1)
	offenders, _ := a.Offenders(2)
	address := netip.MustParsePrefix("203.0.113.7/32")

	checkCall(t, "status", a.Status())(c.Status(ctx))
	checkCall(t, "zones", a.Zones())(c.Zones(ctx))
	checkCall(t, "zone", a.Zones()[0])(c.Zone(ctx, "perip"))
	checkCall(t, "set zone", zone)(c.SetZone(ctx, "perip", admin.ZoneSetting{Rate: "20r/s"}))
	checkCall(t, "peek", peeked)(c.Peek(ctx, "perip", key[:1]))
	checkCall(t, "reset", true)(c.Reset(ctx, "slots", key))
	checkCall(t, "top keys", keys)(c.TopKeys(ctx, "perip", 1))
	checkCall(t, "no top keys", []admin.KeyState{})(c.TopKeys(ctx, "slots", 1))
	checkCall(t, "offenders", offenders)(c.Offenders(ctx, 2))
	checkCall(t, "report", admin.Outcome{Prefix: address, Outcome: "counted", Offences: 3, After: 20, WithinSeconds: 10})(
		c.Report(ctx, admin.ReportBody{Prefix: "203.0.113.7", Reason: "failed login", Count: 3}))
	checkCall(t, "reload", a.Status().Config)(c.Reload(ctx))
	checkCall(t, "rules", rules)(c.Rules(ctx))
	checkCall(t, "set rule", admin.Done{Action: "block", Prefixes: []netip.Prefix{address}, Changed: 1})(
		c.SetRule(ctx, admin.RuleSetting{Prefix: "203.0.113.7", Action: "block", For: "1m"}))
	checkCall(t, "unset", admin.Done{Action: "unset", Prefixes: []netip.Prefix{address}, Changed: 1})(c.Unset(ctx, []netip.Prefix{address}))
	fleet, _ := a.Fleet()
	checkCall(t, "fleet", fleet)(c.Fleet(ctx))
	known, _ := a.FleetRules()
	checkCall(t, "fleet rules", known)(c.FleetRules(ctx))
	checkCall(t, "set fleet", admin.Done{Action: "limit", Prefixes: []netip.Prefix{address}, Changed: 1})(
		c.SetFleet(ctx, admin.FleetSetting{Prefixes: []string{"203.0.113.7"}, Action: "limit", Bandwidth: "100Mbit/s", For: "1m", Reason: "scans"}))
	checkCall(t, "unset fleet", admin.Done{Action: "unset", Prefixes: []netip.Prefix{address}, Changed: 1})(c.UnsetFleet(ctx, []netip.Prefix{address}))
	checkCall(t, "policies", policies)(c.Policies(ctx))
	checkCall(t, "set policy", admin.Done{Action: "policy set", Policy: "a/b", Changed: 1})(
		c.SetPolicy(ctx, "a/b", admin.PolicySetting{Bandwidth: "100Mbit/s", Key: "shared", SYN: true, Unverified: true, Proto: "tcp", Overflow: "drop"}))
	checkCall(t, "delete policy", admin.Done{Action: "policy delete", Policy: "dns", Changed: 1})(c.DeletePolicy(ctx, "dns"))
	checkCall(t, "top", top)(c.Top(ctx, 1))
	if err := c.Drain(ctx); err != nil {
		t.Error(err)
	}
	want := []string{
		"set zone perip to 20r/s 0", fmt.Sprintf("reset slots %q", key), `report 203.0.113.7/32 "failed login" report 3`, "reload",
		`set 203.0.113.7/32 block none/0 none/0 "" for 1m0s`, "unset [203.0.113.7/32]",
		`fleet limit 203.0.113.7/32 none/0 100Mbit/s/12500000 for 1m0s "scans"`, "fleet unset [203.0.113.7/32]",
		`policy a/b "tcp" 6 0-0 syn true unverified true shared true dry false overflow "drop" none/0 100Mbit/s/12500000`, "delete dns", "drain",
	}
	if diff := cmp.Diff(want, a.Calls()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A long list is taken back in several requests, and published in one: all of it or none.
func TestLongListsForAFleet(t *testing.T) {
	a := &agentfake.Agent{}
	var log transcript.Buffer
	c := serve(t, admin.NewHandler(a, admin.Options{Log: logTo(&log)}))
	var prefixes []netip.Prefix
	var texts []string
	for n := range 2_000 {
		p := netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, byte(n >> 8), byte(n)}), 128)
		prefixes, texts = append(prefixes, p), append(texts, p.String())
	}
	done, err := c.UnsetFleet(t.Context(), prefixes)
	if calls := len(a.Calls()); err != nil || calls != 4 || done.Changed != 4 || len(done.Prefixes) != 4 || done.Prefixes[1] != prefixes[500] {
		t.Errorf("%d prefixes in %d requests, %v; want 1 of each of 4", done.Changed, calls, err)
	}
	done, err = c.SetFleet(t.Context(), admin.FleetSetting{Prefixes: texts, Action: "block"})
	if calls := len(a.Calls()) - 4; err != nil || calls != len(prefixes) || done.Changed != len(prefixes) {
		t.Errorf("%d published, %v", calls, err)
	}
	for line := range strings.Lines(log.String()) {
		if len(line) > 1500 {
			t.Errorf("a line of %d bytes in the log: %.200s", len(line), line)
		}
	}
}

// What the agent says is wrong, the client says.
func TestClientErrors(t *testing.T) {
	c := serve(t, admin.NewHandler(&agentfake.Agent{}, admin.Options{}))
	_, err := c.SetZone(t.Context(), "none", admin.ZoneSetting{Rate: "1r/s"})
	var p *admin.Problem
	if !errors.As(err, &p) || p.Status != http.StatusNotFound || err.Error() != `there is no zone "none"; there are perip, slots` {
		t.Errorf("%#v", err)
	}

	stranger := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusFound) }))
	if _, err := stranger.Status(t.Context()); err == nil || !strings.Contains(err.Error(), "302 Found") {
		t.Errorf("a redirect: %v", err)
	}
	stranger = serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	if _, err := stranger.Status(t.Context()); err == nil || !strings.Contains(err.Error(), "read the agent's answer") {
		t.Errorf("no JSON: %v", err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if _, err := c.Status(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "did not answer in time") {
		t.Errorf("no time: %v", err)
	}
}

func TestNoAgent(t *testing.T) {
	stale := filepath.Join(t.TempDir(), "stale")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	for _, path := range []string{stale, filepath.Join(t.TempDir(), "none")} {
		_, err := newClient(t, path, "").Status(t.Context())
		if want := "no agent answers at " + path; !errors.Is(err, admin.ErrNoAgent) || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
	}
	for _, address := range []string{"https://localhost", "http://", "http://localhost/x", "http://localhost?x=1", "http://%zz"} {
		if _, err := admin.NewClient(address, "token"); err == nil || !strings.Contains(err.Error(), "use the path of its socket") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"http://192.0.2.1:9091", "http://example.com", "http://127.0.0.1.example.com:1", "http://localhost@192.0.2.1"} {
		if _, err := admin.NewClient(address, "token"); err == nil || !strings.Contains(err.Error(), "listens on loopback only") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := admin.NewClient("http://localhost:1", ""); err == nil || !strings.Contains(err.Error(), "asks for a token") {
		t.Errorf("no token: %v", err)
	}
}

// Over TCP the client sends the token that is in the file now.
func TestClientOverTCP(t *testing.T) {
	file := tokenFile(t, token)
	server := httptest.NewServer(admin.NewHandler(&agentfake.Agent{}, admin.Options{TokenFile: file}))
	t.Cleanup(server.Close)
	if _, err := newClient(t, server.URL, file).Status(t.Context()); err != nil {
		t.Error(err)
	}
	var p *admin.Problem
	_, err := newClient(t, server.URL, tokenFile(t, strings.Repeat("x", 32))).Status(t.Context())
	if !errors.As(err, &p) || p.Status != http.StatusUnauthorized {
		t.Errorf("another token: %v", err)
	}
	if _, err := newClient(t, server.URL, filepath.Join(t.TempDir(), "none")).Status(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no token: %v", err)
	}
}

// Events reach the client until it has enough, until its context ends, or until the agent does.
func TestClientEvents(t *testing.T) {
	a := &agentfake.Agent{Listening: make(chan struct{}, 1)}
	closing := make(chan struct{})
	c := serve(t, admin.NewHandler(a, admin.Options{Closing: closing, Heartbeat: time.Millisecond}))
	follow := func(ctx context.Context, most int, then func()) (got []event.Kind, err error) {
		stream, err := c.Events(ctx, event.HandedDown, event.Draining)
		if err != nil {
			return nil, err
		}
		defer stream.Close()
		<-a.Listening
		a.Bus.Publish(event.Event{Kind: event.Refused})
		a.Bus.Publish(event.Event{Kind: event.HandedDown})
		for then(); len(got) < most; {
			e, err := stream.Next()
			if err != nil {
				return got, err
			}
			got = append(got, e.Kind)
		}
		return got, nil
	}
	if got, err := follow(t.Context(), 1, func() {}); len(got) != 1 || got[0] != event.HandedDown || err != nil {
		t.Errorf("enough: %v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := follow(ctx, 2, cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := follow(t.Context(), 2, func() { close(closing) }); !errors.Is(err, admin.ErrEnded) {
		t.Errorf("ended: %v", err)
	}
}

// A heartbeat is no event.
func TestClientHearsNoHeartbeats(t *testing.T) {
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"time":"2026-11-30T12:00:00Z","kind":"heartbeat"}` + "\n" + `{"time":"2026-11-30T12:00:00Z","kind":"refused"}` + "\n" + `{"time`))
	}))
	stream, err := c.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if e, err := stream.Next(); e.Kind != event.Refused || err != nil {
		t.Errorf("%s, %v", e.Kind, err)
	}
	if _, err := stream.Next(); !errors.Is(err, admin.ErrEnded) {
		t.Errorf("half a line: %v", err)
	}
}

// All of it at once, for the race detector.
func TestAtOnce(t *testing.T) {
	a := &agentfake.Agent{WithKernel: true}
	h := admin.NewHandler(a, admin.Options{})
	c := serve(t, h)
	ctx, cancel := context.WithCancel(t.Context())
	var all, readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			stream, err := c.Events(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			defer stream.Close()
			for err == nil {
				_, err = stream.Next()
			}
		})
	}
	for n := range 8 {
		all.Go(func() {
			for _, r := range good() {
				checkAnswer(t, h, r)
				a.Bus.Publish(event.Event{Kind: event.Refused})
			}
			if _, err := c.Zones(ctx); err != nil {
				t.Errorf("%d: %v", n, err)
			}
		})
	}
	all.Wait()
	cancel()
	readers.Wait()
}
