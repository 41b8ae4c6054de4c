package agent_test

import (
	"errors"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
)

// limited is a proxy whose clients, named by a header of a peer on a unix socket, may send burst+1 requests an hour.
func limited(upstream string, burst string) string {
	return `
listen: ["unix:DIR/web.sock"]
upstream: ["` + upstream + `"]
admin: {socket: DIR/admin.sock}
http:
  client_ip: {header: X-Forwarded-For, trusted_proxies: [unix]}
  zones: {perip: {key: ip, rate: 1r/h}}
  rules: [{limits: [{zone: perip, burst: ` + burst + `, nodelay: true}]}]
`
}

// withoutCertificate adds a listener to a configuration whose certificate is missing.
func withoutCertificate(text string) string {
	return strings.Replace(text, "listen: [", `listen: [{address: "unix:DIR/tls.sock", tls: {certificate: DIR/no.pem, key: DIR/no.key}}, `, 1)
}

func TestServesAndEnds(t *testing.T) {
	l := newLab(t, limited(backend(t, ok), "2"))
	l.start()
	got := l.statuses(5, "X-Forwarded-For", "192.0.2.1")
	if got[200] != 3 || got[429] != 2 {
		t.Errorf("statuses are %v, want 3 of 200 and 2 of 429", got)
	}
	l.end()
	if _, err := os.Stat(l.path("web.sock")); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
	if _, err := l.try("web.sock", "/"); err == nil {
		t.Error("somebody still listens")
	}
}

func TestEmptyFileDoesNotStart(t *testing.T) {
	l := newLab(t, "")
	err := l.agent.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "headgate.yaml is empty") {
		t.Errorf("got %v", err)
	}
}

func TestStartsOnlyWhole(t *testing.T) {
	l := newLab(t, limited("http://127.0.0.1:1", "2")+"kernel: {interfaces: [lab0]}\n")
	l.kernel.refuse = errors.New("another program is attached")
	err := l.agent.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "another program is attached") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(l.path("web.sock")); !os.IsNotExist(err) {
		t.Errorf("a socket is left over: %v", err)
	}
}

// What is not possible is an error at the start too, and nothing stays of what was opened before.
func TestImpossibleAtTheStart(t *testing.T) {
	text := limited("http://127.0.0.1:1", "2")
	for want, text := range map[string]string{
		"no.pem":      withoutCertificate(text),
		"no/such/log": text + "log: {file: DIR/no/such/log}\n",
		"no.token":    strings.Replace(text, "socket: DIR/admin.sock", `listen: "127.0.0.1:0", token_file: DIR/no.token`, 1),
	} {
		l := newLab(t, text)
		err := l.agent.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %s", err, want)
		}
		for _, name := range []string{"web.sock", "tls.sock"} {
			if _, err := os.Stat(l.path(name)); !os.IsNotExist(err) {
				t.Errorf("%s: %s is left over: %v", want, name, err)
			}
		}
	}
}

func TestReloadKeepsWhatKeysOwe(t *testing.T) {
	upstream := backend(t, ok)
	l := newLab(t, limited(upstream, "2"))
	l.start()
	l.statuses(2, "X-Forwarded-For", "192.0.2.1")
	l.reload(limited(upstream, "4"))
	if got := l.statuses(5, "X-Forwarded-For", "192.0.2.1"); got[200] != 3 || got[429] != 2 {
		t.Errorf("statuses are %v: 2 of 5 were used, so 3 of 200 and 2 of 429 are right", got)
	}
}

func TestBrokenFileChangesNothing(t *testing.T) {
	upstream := backend(t, ok)
	l := newLab(t, limited(upstream, "0")+"kernel: {interfaces: [lab0]}\n")
	l.start()
	for name, text := range map[string]string{
		"unknown field":      limited(upstream, "9") + "kernel: {interfaces: [lab0], mod: auto}\n",
		"an empty file":      "",
		"a socket elsewhere": strings.Replace(limited(upstream, "9"), "DIR/web.sock", "DIR/no/such/web.sock", 1) + "kernel: {interfaces: [lab0]}\n",
		"no certificate":     withoutCertificate(limited(upstream, "9")) + "kernel: {interfaces: [lab0]}\n",
		"the log elsewhere":  limited(upstream, "9") + "kernel: {interfaces: [lab0]}\nlog: {file: DIR/no/such/log}\n",
	} {
		l.write(text)
		if err := l.agent.Reload(); err == nil {
			t.Errorf("%s: the reload succeeded", name)
		}
	}
	l.kernel.do(func() { l.kernel.refuse = errors.New("no room") })
	l.write(limited(upstream, "9") + "kernel: {interfaces: [lab0, lab1]}\nlog: {file: DIR/log}\n")
	if err := l.agent.Reload(); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("got %v", err)
	}
	if c, times := l.kernel.last(); times != 1 || len(c.Interfaces) != 1 {
		t.Errorf("the kernel's limiter got %d configurations, the last for %v", times, c.Interfaces)
	}
	if got := l.statuses(3, "X-Forwarded-For", "192.0.2.1"); got[200] != 1 || got[429] != 2 {
		t.Errorf("statuses are %v: another burst is in force", got)
	}
	if n := l.log.Lines("was not reloaded"); n < 5 { // the file is watched, too
		t.Errorf("%d lines of the log tell of 5 reloads that failed:\n%s", n, l.log)
	}
	if s := l.agent.Status().Config; !strings.Contains(s.Error, "no room") || s.FailedAt == nil {
		t.Errorf("the status is %+v", s)
	}
}

// No connection is refused and no request fails while the configuration changes under load, also that of the listener.
func TestReloadUnderLoad(t *testing.T) {
	upstream := backend(t, ok)
	text := func(idle string) string {
		return strings.Replace(limited(upstream, "1000000"), "\nhttp:", "\ntimeouts: {idle: "+idle+"}\nhttp:", 1)
	}
	l := newLab(t, text("60s"))
	l.start()
	l.clientOf("web.sock")
	var load sync.WaitGroup
	var stop atomic.Bool
	var sent atomic.Int64
	for range 4 {
		load.Go(func() {
			for !stop.Load() {
				res, err := l.try("web.sock", "/", "X-Forwarded-For", "192.0.2.1")
				if err != nil || res.StatusCode != http.StatusOK {
					t.Errorf("a request failed: %v, %v", res, err)
					return
				}
				sent.Add(1)
			}
		})
	}
	for i := range 10 {
		before := sent.Load()
		l.reload(text([]string{"61s", "60s"}[i%2]))
		eventually(t, "requests go on", func() bool { return sent.Load() > before+20 || t.Failed() })
	}
	stop.Store(true)
	load.Wait()
	for _, z := range l.agent.Zones() {
		if int64(z.Allowed) != sent.Load() {
			t.Errorf("%d requests were counted, of %d", z.Allowed, sent.Load())
		}
	}
}

func TestFileIsWatched(t *testing.T) {
	upstream := backend(t, ok)
	l := newLab(t, limited(upstream, "0"))
	l.start()
	events := l.agent.Events()
	defer events.Close()
	l.write(limited(upstream, "5"))
	late := time.After(2 * forever) // where the kernel tells nothing it takes a minute
	for reloaded := false; !reloaded; {
		select {
		case e := <-events.Events():
			reloaded = e.Kind == event.Reloaded
		case <-late:
			t.Fatalf("the change was not seen\n%s", l.log)
		}
	}
	if got := l.statuses(7, "X-Forwarded-For", "192.0.2.1"); got[200] != 6 {
		t.Errorf("statuses are %v, want 6 of 200", got)
	}
}

func TestOffendersAreHandedDown(t *testing.T) {
	l := newLab(t, limited(backend(t, ok), "0")+
		"kernel: {interfaces: [lab0]}\nhanddown: {after: 3, within: 10s, action: block, for: 1m}\n")
	l.start()
	l.statuses(4, "X-Forwarded-For", "203.0.113.9")
	eventually(t, "a rule", func() bool { return len(l.kernel.rules()) == 1 })
	want := netip.MustParsePrefix("203.0.113.9/32")
	if r := l.kernel.rules()[0]; r.Prefix != want || r.Action != config.Block {
		t.Errorf("the rule is %+v", r)
	}
	offenders, err := l.agent.Offenders(5)
	if err != nil || len(offenders) != 1 || offenders[0].Source != want || offenders[0].Action != "block" {
		t.Errorf("offenders are %+v, %v", offenders, err)
	}
	l.statuses(4, "X-Forwarded-For", "10.0.0.9")
	eventually(t, "one that is spared", func() bool {
		offenders, err := l.agent.Offenders(5)
		return err == nil && len(offenders) == 2 && offenders[1].Spared == "private"
	})
}

// What is forged by a client that no trusted proxy stands before hits nobody.
func TestForgedFieldsHitNobody(t *testing.T) {
	text := strings.Replace(limited(backend(t, ok), "0"), "  client_ip: {header: X-Forwarded-For, trusted_proxies: [unix]}\n", "", 1)
	l := newLab(t, strings.Replace(text, "key: ip", "key: host", 1)+
		"kernel: {interfaces: [lab0]}\nhanddown: {after: 1, within: 10s, action: block, for: 1m}\n")
	l.start()
	l.statuses(5, "X-Forwarded-For", "203.0.113.9")
	if rules := l.kernel.rules(); len(rules) != 0 {
		t.Errorf("rules are %+v", rules)
	}
}

func TestZoneChangesLive(t *testing.T) {
	upstream := backend(t, ok)
	l := newLab(t, limited(upstream, "0"))
	l.start()
	l.statuses(2, "X-Forwarded-For", "192.0.2.1")
	z, err := l.agent.SetZone("perip", admin.ZoneChange{Quota: config.Quota{Count: 2, Per: 3600e9, Text: "2r/h"}})
	if err != nil || z.Rate != "2r/h" || !z.Changed || z.Allowed != 1 || z.Refused != 1 {
		t.Errorf("got %+v, %v", z, err)
	}
	if _, err := l.agent.SetZone("perip", admin.ZoneChange{Slots: 3}); !errors.As(err, new(admin.Refusal)) {
		t.Errorf("requests at a time for a zone with a rate: %v", err)
	}
	if _, err := l.agent.SetZone("none", admin.ZoneChange{Slots: 3}); !errors.Is(err, admin.ErrNotFound) {
		t.Errorf("a zone that there is not: %v", err)
	}
	known, err := l.agent.Reset("perip", []string{"192.0.2.1"})
	if err != nil || !known {
		t.Errorf("reset: %v, %v", known, err)
	}
	if got := l.statuses(2, "X-Forwarded-For", "192.0.2.1"); got[200] != 1 {
		t.Errorf("statuses are %v after a reset, want 1 of 200", got)
	}
	l.reload(limited(upstream, "1"))
	if z := l.agent.Zones()[0]; z.Changed || z.Rate != "1r/h" {
		t.Errorf("after a reload the zone is %+v", z)
	}
}

func TestSectionsComeAndGo(t *testing.T) {
	upstream := backend(t, ok)
	full := limited(upstream, "0") + `
kernel: {interfaces: [lab0], default: {rate: 1kpps}}
handdown: {after: 3, within: 10s, action: block, for: 1m}
metrics: {listen: "unix:DIR/metrics.sock"}
auth: {listen: ["unix:DIR/auth.sock"], grpc: ["unix:DIR/grpc.sock"]}
adaptive: {latency: {percentile: 99, target: 200ms}, scale: [http, kernel]}
`
	l := newLab(t, full)
	l.start()
	for range 3 {
		if text := bodyOf(l.get("metrics.sock", "/metrics")); !strings.Contains(text, "headgate_http_zone_keys") {
			t.Errorf("no metrics of zones:\n%s", text)
		}
		if res := l.get("auth.sock", "/auth/nginx", "X-Headgate-Peer", "192.0.2.1", "X-Headgate-Method", "GET",
			"X-Headgate-Uri", "/", "X-Headgate-Host", "a"); res.StatusCode != http.StatusOK && res.StatusCode != http.StatusForbidden {
			t.Errorf("auth answers %d: %s", res.StatusCode, bodyOf(res))
		}
		l.reload(limited(upstream, "0"))
		for _, socket := range []string{"metrics.sock", "auth.sock", "grpc.sock"} {
			l.clientOf(socket).CloseIdleConnections()
			eventually(t, socket+" is gone", func() bool { _, err := os.Stat(l.path(socket)); return os.IsNotExist(err) })
		}
		if _, err := l.agent.Offenders(1); !errors.Is(err, admin.ErrOff) {
			t.Errorf("offenders without the section: %v", err)
		}
		eventually(t, "the interfaces are not followed", func() (is bool) {
			l.kernel.do(func() { is = l.kernel.following == 0 })
			return is
		})
		l.reload(full)
	}
}

func TestDrainWaitsForRequests(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	upstream := backend(t, func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-release
		ok(w, r)
	})
	free := sync.OnceFunc(func() { close(release) })
	t.Cleanup(free) // before the server ends
	l := newLab(t, limited(upstream, "0")+"metrics: {listen: \"unix:DIR/metrics.sock\"}\n")
	l.start()
	l.clientOf("web.sock")
	done := make(chan int, 1)
	go func() {
		res, err := l.try("web.sock", "/", "X-Forwarded-For", "192.0.2.1")
		if err != nil {
			t.Error(err)
			done <- 0
			return
		}
		done <- res.StatusCode
	}()
	select {
	case <-arrived:
	case status := <-done:
		t.Fatalf("the request got %d", status)
	}
	l.agent.Drain()
	eventually(t, "the agent refuses connections", func() bool {
		_, err := os.Stat(l.path("web.sock"))
		return os.IsNotExist(err)
	})
	if res := l.get("metrics.sock", "/readyz"); res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(bodyOf(res), "draining") {
		t.Errorf("/readyz answers %d while the agent drains", res.StatusCode)
	}
	free()
	if status := <-done; status != 200 {
		t.Errorf("the request under way got %d", status)
	}
}

// The mode of the admin socket is the file's after each reload, though the socket stays open, and as before after one that was refused.
func TestAdminModeChanges(t *testing.T) {
	text := func(mode, more string) string {
		return "admin: {socket: DIR/admin.sock, mode: " + mode + "}\nmetrics: {listen: \"unix:DIR/metrics.sock\"}\n" + more
	}
	l := newLab(t, text("0660", ""))
	l.start()
	wantMode := func(want os.FileMode) {
		t.Helper()
		info, err := os.Stat(l.path("admin.sock"))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("mode %v, %v, want %v", info.Mode().Perm(), err, want)
		}
	}
	wantMode(0o660)
	l.reload(text("0600", ""))
	wantMode(0o600)
	l.write(text("0660", "log: {file: DIR/no/such/log}\n"))
	if err := l.agent.Reload(); err == nil {
		t.Error("the reload succeeded")
	}
	wantMode(0o600)
	if res := l.get("admin.sock", "/v1/status"); res.StatusCode != http.StatusOK {
		t.Errorf("the API answers %d", res.StatusCode)
	}
}

// A pipe has nothing to say when it is read again, and would keep the agent waiting for its writer.
func TestPipeIsNoConfiguration(t *testing.T) {
	l := newLab(t, limited("http://127.0.0.1:1", "0"))
	l.start()
	if err := os.Remove(l.path("headgate.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(l.path("headgate.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	reloaded := make(chan error, 1)
	go func() { reloaded <- l.agent.Reload() }()
	select {
	case err := <-reloaded:
		if err == nil || !strings.Contains(err.Error(), "headgate.yaml is no regular file") {
			t.Errorf("got %v", err)
		}
	case <-time.After(30 * time.Second):
		panic("the reload waits for somebody who writes") // and no end of the test would end that
	}
}

// A file that was refused is not tried again before it changes, however often somebody says that it has.
func TestRefusedFileIsTriedOnce(t *testing.T) {
	l := newLab(t, limited("http://127.0.0.1:1", "0"))
	l.start()
	l.write(limited("http://127.0.0.1:1", "much"))
	if err := l.agent.Reload(); err == nil {
		t.Error("the reload succeeded")
	}
	tried := l.log.Lines("was not reloaded") // twice if who watches the file was first
	for range 3 {
		l.agent.ReloadChanged()
	}
	if n := l.log.Lines("was not reloaded"); n != tried || n == 0 {
		t.Errorf("tried %d times, and %d before:\n%s", n, tried, l.log)
	}
	l.write(limited("http://127.0.0.1:1", "3"))
	l.agent.ReloadChanged()
	if s := l.agent.Status().Config; s.Error != "" {
		t.Errorf("the status is %+v", s)
	}
}
