package agent_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/headgate/headgate/test/redislab"
)

// sharing is an agent whose limits are in Redis.
const sharing = `
redis: {addrs: [ADDRS], mode: MODE, name: NAME, timeout: 1s}
listen: ["unix:DIR/web.sock"]
upstream: ["BACKEND"]
admin: {socket: DIR/admin.sock}
http:
  zones:
    key: {key: "header:X-Key", rate: 10r/h, algorithm: ALGORITHM, store: redis}
    all: {key: "const:all", rate: 1000r/h, algorithm: ALGORITHM, store: redis}
  rules: [{limits: [{zone: key BURST}, {zone: all}]}]
`

// machines are agents that share a Redis.
func machines(t *testing.T, n int, text string, addrs []string) []*lab {
	t.Helper()
	text = strings.NewReplacer("ADDRS", `"`+strings.Join(addrs, `", "`)+`"`, "BACKEND", backend(t, ok)).Replace(text)
	var all []*lab
	for i := range n {
		l := newLab(t, strings.ReplaceAll(text, "NAME", fmt.Sprintf("web-%d", i+1)))
		l.start()
		all = append(all, l)
	}
	return all
}

// allowed sends n requests of a key to each of the agents, parallel of them at a time, and returns how many passed in all.
func allowed(t *testing.T, all []*lab, n int, key string) int {
	t.Helper()
	var passed atomic.Int64
	var clients sync.WaitGroup
	for _, l := range all {
		l.clientOf("web.sock") // before they all ask for it
		for range 8 {
			clients.Go(func() {
				for range n / 8 {
					res, err := l.try("web.sock", "/", "X-Key", key)
					switch {
					case err != nil:
						t.Error(err)
					case res.StatusCode == http.StatusOK:
						passed.Add(1)
					case res.StatusCode != http.StatusTooManyRequests:
						t.Errorf("status %d", res.StatusCode)
					}
				}
			})
		}
	}
	clients.Wait()
	return int(passed.Load())
}

// One client that comes to three machines at once is admitted exactly what one limit allows, alone or on a cluster.
func TestThreeMachinesOneLimit(t *testing.T) {
	t.Parallel()
	cluster := redislab.StartCluster(t, 3, false)
	for mode, addrs := range map[string][]string{
		"single":  {redislab.Start(t).Addr},
		"cluster": cluster.Addrs(),
	} {
		for algorithm, burst := range map[string]string{"leaky": ", burst: 9, nodelay: true", "window": ""} {
			t.Run(mode+" "+algorithm, func(t *testing.T) {
				text := strings.NewReplacer("MODE", mode, "ALGORITHM", algorithm, " BURST", burst, "prefix", "p-"+algorithm).Replace(sharing)
				text = strings.Replace(text, "mode: ", "prefix: p-"+algorithm+", mode: ", 1)
				if algorithm == "leaky" {
					text = strings.Replace(text, "{zone: all}", "{zone: all, burst: 999, nodelay: true}", 1)
				}
				all := machines(t, 3, text, addrs)
				if got := allowed(t, all, 40, "one"); got != 10 {
					t.Errorf("%d requests passed, want 10", got)
				}
				if got := allowed(t, all[:2], 40, "two"); got != 10 {
					t.Errorf("%d requests of another passed, want 10", got)
				}
				wantFleet(t, all)
			})
		}
	}
}

// wantFleet checks that each agent knows of all, and that its store is well.
func wantFleet(t *testing.T, all []*lab) {
	t.Helper()
	for _, l := range all {
		eventually(t, "each knows of all", func() bool {
			f, err := l.agent.Fleet()
			return err == nil && len(f.Members) == len(all) && f.Store.Health == "up"
		})
	}
}
