package e2e_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/event"
)

// eventful is a configuration under which all kinds of events can be had.
const eventful = `
kernel: {interfaces: [IFACE], max_sources: 4096}
listen: ["0.0.0.0:8080"]
upstream: {servers: ["http://127.0.0.1:9000"], health: {path: /, interval: 50ms, timeout: 40ms, failures: 2, successes: 2}}
admin: {socket: DIR/admin.sock}
http:
  zones: {perip: {key: ip, rate: 1r/h}}
  rules: [{match: {path: /slow}, limits: []}, {limits: [{zone: perip}]}]
handdown: {after: 3, within: 10s, action: block, for: 1h}
adaptive: {latency: {percentile: 50, target: 10ms}, interval: 500ms, scale: http}
`

// ofFleet are the kinds that an agent without Redis never tells of.
var ofFleet = []event.Kind{
	event.StoreDown, event.StoreUp, event.FleetRule, event.FleetUnset, event.FleetSpared, event.FleetWithheld, event.FleetResized,
}

// What can be listened to has an event of each kind, and the guide shows one of each as it is here.
func TestAgentTellsOfEverything(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	backend := s.startBackend(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			time.Sleep(30 * time.Millisecond) // what the agent measures
		}
		_, _ = io.WriteString(w, "ok")
	})
	a := s.start(eventful)
	c := s.command("events", "--socket", s.path("admin.sock"))
	told := openPipe(t, &c.Stdout)
	c.start()
	await(t, "the listener", func() bool {
		s.must("reload")
		return strings.Contains(c.Stdout.(*transcript).String(), "reloaded")
	})
	browser := s.browser(modest)
	await(t, "the rates being adapted", func() bool {
		browser.get("/slow")
		return strings.Contains(c.Stdout.(*transcript).String(), "adapted")
	})
	s.must("allow", third)
	s.must("report", third, "--count", "3", "--reason", "failed login")
	told("spared")
	s.browser(flooder).wantStatuses(4, 1)
	told("refused")
	told("handdown")
	s.awaitDropped()
	s.wantPassed(flooder, 20, 0)
	told("dropped")
	backend.stop()
	told("upstream")
	if err := s.pair.Close(); err != nil {
		t.Fatal(err)
	}
	told("detached")
	s.again()
	told("attached")
	if code := a.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	told("draining")
	c.wait()
	out := c.Stdout.(*transcript).String()
	for _, kind := range event.Kinds() {
		if told := strings.Contains(out, "  "+string(kind)+" "); told == slices.Contains(ofFleet, kind) {
			t.Errorf("kind %s is told: %t\n%s", kind, told, out)
		}
	}
}
