package e2e_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// serving is a proxy that lets a client send two requests an hour.
const serving = `
listen: ["0.0.0.0:8080"]
upstream: ["http://127.0.0.1:9000"]
admin: {socket: DIR/admin.sock}
metrics: {listen: "127.0.0.1:9090"}
http:
  zones: {perip: {key: ip, rate: 1r/h}}
  rules: [{limits: [{zone: perip, burst: 1, nodelay: true}]}]
`

// unlimited is a proxy that lets all pass.
const unlimited = `
listen: ["0.0.0.0:8080"]
upstream: ["http://127.0.0.1:9000"]
admin: {socket: DIR/admin.sock}
metrics: {listen: "127.0.0.1:9090"}
`

// slow is a backend whose answers to /slow wait until they are released; what arrives is told.
func (s *site) slow() (arrived, release chan struct{}) {
	arrived, release = make(chan struct{}, 100), make(chan struct{})
	s.startBackend(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			arrived <- struct{}{}
			<-release
		}
		_, _ = io.WriteString(w, "ok")
	})
	return arrived, release
}

// The first SIGTERM lets requests under way end: /readyz says that no more should come, and who connects is refused.
func TestAgentDrains(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	arrived, release := s.slow()
	a := s.start(unlimited)
	done := make(chan response, 1)
	go func() {
		r, err := s.browser(modest).try("/slow")
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	<-arrived
	if r := s.local("9090").get("/readyz"); r.status != http.StatusOK {
		t.Errorf("/readyz has %d before: %s", r.status, r.body)
	}
	a.signal(syscall.SIGTERM)
	a.awaitLine("draining")
	await(t, "new connections being refused", func() bool {
		_, err := s.browser(third).try("/")
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	if r := s.local("9090").get("/readyz"); r.status != http.StatusServiceUnavailable || !strings.Contains(r.body, "draining") {
		t.Errorf("/readyz has %d while draining: %s", r.status, r.body)
	}
	if status, err := s.admin().Status(t.Context()); err != nil || !status.Draining {
		t.Errorf("the status is %+v, %v", status, err)
	}
	s.command("reload").run().wantError(t, 1, "starting or ending")
	a.signal(syscall.SIGHUP) // which ends processes by default
	close(release)
	if r := <-done; r.status != http.StatusOK || r.body != "ok" {
		t.Errorf("the request under way got %+v", r)
	}
	if r := a.wait(); r.code != 0 {
		t.Errorf("exit %d:\n%s", r.code, a.log)
	}
	a.wantLines(1, "ended")
}

// The second SIGTERM ends the agent whatever is under way.
func TestAgentEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	arrived, release := s.slow()
	defer close(release)
	a := s.start(unlimited)
	failed := make(chan error, 1)
	go func() {
		_, err := s.browser(modest).try("/slow")
		failed <- err
	}()
	<-arrived
	a.signal(syscall.SIGTERM)
	a.awaitLine("draining")
	a.signal(syscall.SIGTERM)
	if r := a.wait(); r.code != -1 {
		t.Errorf("exit %d, want a signal:\n%s", r.code, a.log)
	}
	if err := <-failed; err == nil {
		t.Error("the request was answered")
	}
}

// What takes longer than timeouts.drain is cut off, and the exit code tells.
func TestAgentCutsOff(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	arrived, release := s.slow()
	defer close(release)
	a := s.start(unlimited + "timeouts: {drain: 300ms}\n")
	go func() { _, _ = s.browser(modest).try("/slow") }()
	<-arrived
	if code := a.stop(); code != 1 {
		t.Errorf("exit %d, want 1", code)
	}
	a.wantLines(1, "headgate: drain proxy on tcp 0.0.0.0:8080")
}

// `headgate drain` is as SIGTERM.
func TestAgentDrainsByCommand(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	a := s.start(unlimited)
	s.must("drain")
	if r := a.wait(); r.code != 0 {
		t.Errorf("exit %d:\n%s", r.code, a.log)
	}
}

// A signal during the start ends the agent, by itself or after it was ready, and the limiter is whole or not there.
func TestAgentEndsWhileItStarts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.configure(limitedKernel)
	k := newKiller(t, duration(func() { s.start(limitedKernel).stop() }))
	for range 6 {
		s.must("detach", "--all")
		a := s.agent()
		if !k.strikeBy(a.command, syscall.SIGTERM) {
			t.Fatalf("the agent has ended by itself:\n%s", a.log)
		}
		if code := a.ProcessState.ExitCode(); code != 0 && code != -1 {
			t.Errorf("exit %d:\n%s", code, a.log)
		}
		if r := s.command("status").run(); r.code != 0 {
			r.wantError(t, 1, "no headgate instance")
		}
	}
	s.start(limitedKernel)
	s.wantPassed(flooder, 20, 5)
}

func TestAgentExitCodes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.configure("listen: [1]\n")
	broken := s.path("headgate.yaml")
	for _, tt := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"run"}, 2, "name the configuration file"},
		{[]string{"run", "-c", "-"}, 2, "name a file"},
		{[]string{"run", "-c", broken, "more"}, 2, "more"},
		{[]string{"run", "-c", s.path("none.yaml")}, 1, "no such file"},
		{[]string{"run", "-c", broken}, 1, "headgate.yaml:1:"},
	} {
		r := s.command(tt.args...).run()
		if r.code != tt.code || !strings.Contains(r.stderr, tt.text) {
			t.Errorf("headgate %q: exit %d, want %d with %q: %s", tt.args, r.code, tt.code, tt.text, r.stderr)
		}
	}
}

// Of two agents of one file the second does not start, and the first does not notice.
func TestAgentStartsOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.startBackend(nil)
	s.start(serving)
	r := s.agent().run()
	if r.code != 1 {
		t.Errorf("exit %d, want 1", r.code)
	}
	s.browser(modest).wantStatuses(3, 2)
	if _, err := s.admin().Status(t.Context()); err != nil {
		t.Error(err)
	}
}
