package agent_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/config"
)

// Whoever asks the agent while its sections come and go gets an answer of before or after. The race detector looks on.
func TestAsksBesideReloads(t *testing.T) {
	upstream := backend(t, ok)
	full := limited(upstream, "0") + `
kernel: {interfaces: [lab0], default: {rate: 1kpps}}
handdown: {after: 3, within: 10s, action: block, for: 1m}
adaptive: {interval: 100ms, in_flight: 100, scale: [http, kernel]}
`
	l := newLab(t, full)
	l.start()
	a := l.agent
	var asking sync.WaitGroup
	var stop atomic.Bool
	for _, ask := range []func(){
		func() { a.Status() },
		func() { a.Zones() },
		func() { a.Kernel() },
		func() { _, _ = a.Offenders(1) },
		func() { _, _ = a.TopKeys("perip", 1) },
		func() {
			_, _ = a.SetZone("perip", admin.ZoneChange{Quota: config.Quota{Count: 2, Per: 3600e9, Text: "2r/h"}})
		},
	} {
		asking.Go(func() {
			for !stop.Load() {
				ask()
			}
		})
	}
	for range 5 {
		l.reload(limited(upstream, "0"))
		l.reload(full)
	}
	stop.Store(true)
	asking.Wait()
}

// The agent ends in the middle of a reload, which is done or refused.
func TestEndsBesideReloads(t *testing.T) {
	l := newLab(t, limited("http://127.0.0.1:1", "0"))
	l.start()
	var asking sync.WaitGroup
	asking.Go(func() {
		for l.agent.Reload() == nil {
		}
	})
	eventually(t, "reloads", func() bool { return l.log.has("is in force") > 3 })
	l.end()
	asking.Wait()
}

// What a reload that was refused has begun is not left over.
func TestRefusedReloadsLeaveNothing(t *testing.T) {
	l := newLab(t, limited("http://127.0.0.1:1", "0"))
	l.start()
	refuse := func() {
		l.write(limited("http://127.0.0.1:1", "0") + `
tracing: {endpoint: "http://127.0.0.1:1", ratio: 1}
metrics: {listen: "unix:DIR/metrics.sock"}
auth: {listen: ["unix:DIR/no/such/auth.sock"]}
`)
		if err := l.agent.Reload(); err == nil {
			t.Fatal("the reload succeeded")
		}
	}
	refuse()
	before := runtime.NumGoroutine()
	for range 5 {
		refuse()
	}
	eventually(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= before })
}
