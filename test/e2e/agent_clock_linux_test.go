package e2e_test

import (
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

const year = 365 * 24 * time.Hour

// The wall clock jumps by a year, and back by two. Limits, rules, connections and checks of the backend go on by clocks that do not
// jump, and the log has the new date.
func TestAgentClockJumps(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	arrived, release := s.slow()
	second := &backend{site: s, addr: "127.0.0.1:9001"}
	s.configure(strings.NewReplacer(`["http://127.0.0.1:9000"]`, `["http://127.0.0.1:9000", "http://127.0.0.1:9001"]`, "http:\n", "http:\n  allow: [127.0.0.1]\n").Replace(strict) +
		"timeouts: {header: 30s, idle: 1h}\n")
	a := s.agent()
	clock := a.startWithClock()
	a.awaitInForce()

	s.browser(flooder).wantStatuses(4, 1)
	s.awaitDropped()
	slow := make(chan response, 1)
	go func() {
		r, err := s.browser(modest).try("/slow")
		if err != nil {
			t.Error(err)
		}
		slow <- r
	}()
	<-arrived
	await(t, "a server being left out", func() bool {
		s.local(webPort).get("/")
		return s.metric("headgate_upstream_healthy", `server="http://127.0.0.1:9001"`) == 0
	})
	for n, by := range []time.Duration{year, -2 * year} {
		clock.jump(by)
		a.reload(s.read("headgate.yaml") + "# " + by.String() + "\n")
		date := time.Now().Add(time.Duration(clock.offset.Load())).UTC().Format("time=2006-")
		if len(a.lines("the configuration is in force", date)) == 0 {
			t.Errorf("after jump %d the log has another date than %s:\n%s", n+1, date, a.log)
		}
		s.wantPassed(flooder, 20, 0)
		s.wantPassed(modest, 20, 20)
		s.browser(modest).wantStatuses(1, 0) // an hour has not passed
		s.browser([]string{third, neighbour}[n]).wantStatuses(2, 1)
		if rules := decode[[]offenderJSON](s, "offenders"); len(rules) == 0 || rules[0].Action != "block" {
			t.Errorf("offenders are %+v", rules)
		}
	}
	second.start(func(http.ResponseWriter, *http.Request) {})
	t.Cleanup(second.stop)
	await(t, "the server being taken back", func() bool {
		s.local(webPort).get("/")
		return s.metric("headgate_upstream_healthy", `server="http://127.0.0.1:9001"`) == 1
	})
	close(release)
	if r := <-slow; r.status != http.StatusOK {
		t.Errorf("the request under way got %d", r.status)
	}
	if code := a.stop(); code != 0 {
		t.Errorf("exit %d:\n%s", code, a.log)
	}
	t.Logf("the agent has asked for the date %d times", clock.asked.Load())
	if _, err := s.browser(modest).try("/"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after the end: %v", err)
	}
}
