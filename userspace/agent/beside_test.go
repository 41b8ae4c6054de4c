package agent_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/headgate/headgate/test/port"
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
	eventually(t, "reloads", func() bool { return l.log.Lines("is in force") > 3 })
	l.end()
	asking.Wait()
}

// What a reload that was refused has begun is not left over.
func TestRefusedReloadsLeaveNothing(t *testing.T) {
	l := newLab(t, limited("http://127.0.0.1:1", "0"))
	l.start()
	refuse := func() {
		l.write(strings.Replace(limited("http://127.0.0.1:1", "0"), "DIR/admin.sock", "DIR/no/such/admin.sock", 1) + `
tracing: {endpoint: "http://127.0.0.1:1", ratio: 1}
metrics: {listen: "unix:DIR/metrics.sock"}
`)
		if err := l.agent.Reload(); err == nil {
			t.Fatal("the reload succeeded")
		}
	}
	refuse()
	before := runtime.NumGoroutine()
	const times = 20
	for range times {
		refuse()
	}
	// Some may have begun since that are none of a reload's; what each reload leaves is more.
	eventually(t, "hardly more goroutines than before", func() bool { return runtime.NumGoroutine() < before+times })
	if _, err := os.Stat(l.path("metrics.sock")); !os.IsNotExist(err) {
		t.Errorf("the socket of the refused file is there: %v", err)
	}
}

// Nobody listens where only a file that was refused, or is not in force any more, says so; who was there may stay.
func TestListensOnlyWhereTheFileSays(t *testing.T) {
	l := newLab(t, limited("http://127.0.0.1:1", "0"))
	l.start()
	address := fmt.Sprint("127.0.0.1:", port.Reserve(t))
	more := "metrics: {listen: \"" + address + "\"}\n"
	wantFree := func(when string) {
		t.Helper()
		eventually(t, "nobody listens "+when, func() bool {
			again, err := net.Listen("tcp", address)
			if err == nil {
				again.Close()
			}
			return err == nil
		})
	}
	l.write(strings.Replace(limited("http://127.0.0.1:1", "0"), "DIR/admin.sock", "DIR/no/such/admin.sock", 1) + more)
	if err := l.agent.Reload(); err == nil {
		t.Fatal("the reload succeeded")
	}
	again, err := net.Listen("tcp", address) // at once, before the garbage collector closes what was forgotten
	if err != nil {
		t.Fatalf("after a refusal: %v", err)
	}
	again.Close()
	l.reload(limited("http://127.0.0.1:1", "0") + more)
	client := &http.Client{Timeout: forever, Transport: new(http.Transport)}
	defer client.CloseIdleConnections()
	get := func() {
		t.Helper()
		res, err := client.Get("http://" + address + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	get()
	l.reload(limited("http://127.0.0.1:1", "0"))
	wantFree("after a reload without")
	get() // by the connection that there is
}

// Who follows events is no reason to wait, or to cut anybody off, when the agent ends.
func TestEventsEndWithTheAgent(t *testing.T) {
	l := newLab(t, limited("http://127.0.0.1:1", "0"))
	l.start()
	streamed := make(chan error, 1)
	began := make(chan struct{})
	go func() {
		res, err := l.clientOf("admin.sock").Get("http://headgate.test/v1/events")
		close(began)
		if err == nil {
			_, err = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		streamed <- err
	}()
	<-began
	l.end()
	if err := <-streamed; err != nil || l.log.Lines("cut off") > 0 {
		t.Errorf("the stream ended: %v\n%s", err, l.log)
	}
}
