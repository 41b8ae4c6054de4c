package agent_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/test/redislab"
)

// failing has a rule for each thing that can be done while Redis does not answer.
const failing = `
redis: {addrs: ["ADDR"], name: web-1}
listen: ["unix:DIR/web.sock"]
upstream: ["BACKEND"]
admin: {socket: DIR/admin.sock}
http:
  zones: {key: {key: "header:X-Key", rate: 10r/h, algorithm: window, store: redis}}
  rules:
    - {name: local, match: {path: /local}, limits: [{zone: key}]}
    - {name: open, match: {path: /open}, limits: [{zone: key}], on_store_failure: open}
    - {name: closed, match: {path: /closed}, limits: [{zone: key}], on_store_failure: closed}
`

// tally sends n requests of a key, and returns how often which status came.
func (l *lab) tally(path, key string, n int) map[int]int {
	l.t.Helper()
	all := map[int]int{}
	for range n {
		all[l.get("web.sock", path, "X-Key", key).StatusCode]++
	}
	return all
}

// wantTally checks how many of n requests pass, and that the others get a status.
func (l *lab) wantTally(path, key string, n, passed, status int) {
	l.t.Helper()
	if got := l.tally(path, key, n); got[http.StatusOK] != passed || got[status] != n-passed {
		l.t.Errorf("%s: %d requests got %v, want %d that pass and %d with status %d", path, n, got, passed, n-passed, status)
	}
}

// Whatever Redis suffers, each rule does what it says, nobody gets more than a limit allows where that is local or closed, and
// Redis decides again as soon as it is well, without anybody doing anything.
func TestRedisFails(t *testing.T) {
	t.Parallel()
	for _, fault := range []struct {
		name       string
		harm, mend func(s *redislab.Server, p *redislab.Proxy)
		forgets    bool
	}{
		{"kill -9, data lost", func(s *redislab.Server, _ *redislab.Proxy) { s.Kill() }, func(s *redislab.Server, _ *redislab.Proxy) { s.Restart() }, true},
		{"SIGSTOP", func(s *redislab.Server, _ *redislab.Proxy) { s.Stop() }, func(s *redislab.Server, _ *redislab.Proxy) { s.Continue() }, false},
		{"OOM", func(s *redislab.Server, _ *redislab.Proxy) { s.Do("CONFIG", "SET", "maxmemory", "1") }, func(s *redislab.Server, _ *redislab.Proxy) { s.Do("CONFIG", "SET", "maxmemory", "0") }, false},
		{"MISCONF", func(s *redislab.Server, _ *redislab.Proxy) { s.FailSave() }, func(s *redislab.Server, _ *redislab.Proxy) { s.MendSave() }, false},
		{"200 ms", func(_ *redislab.Server, p *redislab.Proxy) { p.Delay(200 * time.Millisecond) }, func(_ *redislab.Server, p *redislab.Proxy) { p.Delay(0) }, false},
		{"nonsense", func(_ *redislab.Server, p *redislab.Proxy) { p.Garble(true) }, func(_ *redislab.Server, p *redislab.Proxy) { p.Garble(false) }, false},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			s := redislab.Start(t, "--save", "3600 1")
			p := redislab.NewProxy(t, s.Addr)
			l := newLab(t, strings.NewReplacer("ADDR", p.Addr, "BACKEND", backend(t, ok)).Replace(failing))
			l.start()
			l.awaitStore("up")
			l.wantTally("/local", "before", 10, 10, http.StatusTooManyRequests)

			fault.harm(s, p)
			l.awaitStore("down")
			l.wantTally("/local", "during", 15, 10, http.StatusTooManyRequests)
			l.wantTally("/open", "during", 15, 15, http.StatusTooManyRequests)
			l.wantTally("/closed", "during", 15, 0, http.StatusServiceUnavailable)

			fault.mend(s, p)
			l.awaitStore("up")
			passed := 0
			if fault.forgets {
				passed = 10
			}
			l.wantTally("/closed", "before", 12, passed, http.StatusTooManyRequests)
			l.wantTally("/local", "after", 12, 10, http.StatusTooManyRequests)
		})
	}
}

// awaitStore waits until the agent finds Redis so, with requests that notice.
func (l *lab) awaitStore(health string) {
	l.t.Helper()
	n := 0
	eventually(l.t, "redis is "+health, func() bool {
		n++
		l.tally("/open", fmt.Sprint("notices ", health, n), 3) // a key that was refused would not be asked for again
		f, err := l.agent.Fleet()
		return err == nil && f.Store.Health == health
	})
}
