package e2e_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
)

// shipped returns the configuration that the package installs, with the directory of the site in the place of /run/headgate,
// which is missing as that is after a boot.
func shipped(tb testing.TB) string {
	tb.Helper()
	text, err := os.ReadFile("../../deploy/headgate.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "/run/headgate/", "DIR/run/")
}

// The agent starts by the file of the package as it is, and can be asked how it does.
func TestAgentStartsAsShipped(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	socket, told := s.notifications()
	s.configure(shipped(t))
	a := s.agent()
	a.with("NOTIFY_SOCKET=" + socket)
	a.start()
	told.await(t, "READY=1") // then it has given up its privileges
	a.wantCapabilities(0)
	if r := s.local("9079").get("/readyz"); r.status != http.StatusOK {
		t.Errorf("/readyz has %d: %s", r.status, r.body)
	}
	if r := s.command("agent", "--socket", s.path("run/admin.sock")).run(); r.code != 0 {
		t.Errorf("agent: exit %d: %s", r.code, r.stderr)
	}
	if code := a.stop(); code != 0 {
		t.Errorf("exit %d:\n%s", code, a.log)
	}
}

// With the first step of that file taken in packets are counted, and none is dropped.
func TestAgentCountsAsShipped(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	kernel := strings.NewReplacer("#kernel:", "kernel:", "#  interfaces: [eth0]", "  interfaces: [IFACE]\n  max_sources: 4096")
	s.start(kernel.Replace(shipped(t)))
	s.wantPassed(flooder, 1000, 1000)
	for _, source := range query[[]topJSON](s.lab, "top", "--once") {
		if source.Source == flooder && source.Pass.Packets == 1000 && source.Drop.Packets == 0 {
			return
		}
	}
	t.Error("top does not show them")
}
