package agent_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/test/redislab"
	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/fleet"
)

// keyed has one limit in Redis, of which a window lasts longer than any test.
const keyed = `
redis: {addrs: ["ADDR"], name: web-1, timeout: 1s}
listen: ["unix:DIR/web.sock"]
upstream: ["BACKEND"]
admin: {socket: DIR/admin.sock}
http:
  zones: {key: {key: "header:X-Key", rate: 10r/h, algorithm: window, store: redis}}
  rules: [{limits: [{zone: key}]}]
`

// Redis can be changed for another, and left, in a reload; what cannot be had changes nothing.
func TestReloadOfRedis(t *testing.T) {
	t.Parallel()
	one, two := redislab.Start(t), redislab.Start(t)
	text := strings.NewReplacer("BACKEND", backend(t, ok)).Replace(keyed)
	with := func(addr string) string { return strings.ReplaceAll(text, "ADDR", addr) }
	l := newLab(t, with(one.Addr))
	l.start()
	l.wantTally("/", "a", 6, 6, http.StatusTooManyRequests)

	l.write(strings.Replace(with(two.Addr), "timeout:", "password_file: DIR/none, timeout:", 1))
	if err := l.agent.Reload(); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("a reload without the password: %v", err)
	}
	l.wantTally("/", "a", 2, 2, http.StatusTooManyRequests) // 8 of 10, as before

	l.reload(with(two.Addr))
	l.wantTally("/", "a", 4, 4, http.StatusTooManyRequests)
	l.reload(with(one.Addr))
	l.wantTally("/", "a", 4, 2, http.StatusTooManyRequests)

	alone := strings.Replace(strings.Replace(with(""), `redis: {addrs: [""], name: web-1, timeout: 1s}`, "", 1), ", store: redis", "", 1)
	l.reload(alone)
	if _, err := l.agent.Fleet(); err == nil || !strings.Contains(err.Error(), admin.ErrOff.Error()) {
		t.Errorf("a fleet without redis: %v", err)
	}
	l.wantTally("/", "a", 12, 10, http.StatusTooManyRequests) // in memory, where nothing is known of it
}

func isSelf(m admin.FleetMember) bool { return m.Self }

// wantPeek checks who knows of a key.
func (l *lab) wantPeek(store string) {
	l.t.Helper()
	zone := l.agent.Zones()[0]
	states, err := l.agent.Peek(zone.Name, []string{"other"})
	if err != nil || zone.Store != "redis" || len(states) != 1 || states[0].Store != store {
		l.t.Errorf("%+v: %+v, %v; want it of %s", zone, states, err, store)
	}
}

// What each machine admits by itself goes by how many machines there are.
func TestLocalPartByMembers(t *testing.T) {
	t.Parallel()
	s := redislab.Start(t)
	text := strings.NewReplacer("ADDR", s.Addr, "timeout: 1s", "timeout: 20ms").Replace(keyed)
	all := machines(t, 2, strings.Replace(text, "web-1", "NAME", 1), nil)
	wantFleet(t, all)
	for _, l := range all {
		eventually(t, "a part of 5", func() bool {
			f, err := l.agent.Fleet()
			return err == nil && len(f.Limits) == 1 && f.Limits[0].Here == "5r/h" && f.Limits[0].Rate == "10r/h"
		})
	}
	all[0].wantPeek("redis")
	s.Kill()
	for _, l := range all {
		l.wantTally("/", "a", 12, 5, http.StatusTooManyRequests)
		l.wantPeek("local")
		f, err := l.agent.Fleet()
		if err != nil || f.Error == "" || f.Limits[0].Here != "5r/h" || f.Members[slices.IndexFunc(f.Members, isSelf)].Store != f.Store.Health {
			t.Errorf("without redis: %v, %+v", err, f)
		}
	}
	for _, timeout := range []string{"21ms", "22ms"} { // the number is that last seen, though other connections have seen nobody
		l := all[0]
		l.reload(strings.NewReplacer("BACKEND", backend(t, ok), "timeout: 20ms", "timeout: "+timeout).Replace(text))
		f, err := l.agent.Fleet()
		if err != nil || f.Limits[0].Here != "5r/h" {
			t.Errorf("after a reload without redis: %v, %+v", err, f)
		}
	}
}

// slowBackend is a server whose requests to /slow tell by under that they are there, and are answered when free is called, at the
// end of the test at the latest.
func slowBackend(t *testing.T) (url string, under <-chan struct{}, free func()) {
	t.Helper()
	there, hold := make(chan struct{}, 8), make(chan struct{})
	url = backend(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			there <- struct{}{}
			<-hold
		}
	})
	free = sync.OnceFunc(func() { close(hold) })
	t.Cleanup(free) // before the server ends, which waits for its requests
	return url, there, free
}

// An agent ends when it has said so, though a front that a reload has replaced had more time for its requests.
func TestEndsInTheTimeItSays(t *testing.T) {
	t.Parallel()
	slow, under, _ := slowBackend(t)
	text := func(drain, idle string) string {
		return limited(slow, "0") + "timeouts: {drain: " + drain + ", idle: " + idle + "}\n"
	}
	l := newLab(t, text("10m", "60s"))
	l.start()
	l.clientOf("web.sock")
	tried := make(chan error, 1)
	go func() {
		_, err := l.try("web.sock", "/slow", "X-Forwarded-For", "192.0.2.1")
		tried <- err
	}()
	select {
	case <-under:
	case err := <-tried:
		t.Fatalf("the request did not come to the upstream: %v", err)
	}
	l.reload(text("50ms", "61s"))
	l.stop()
	select {
	case err := <-l.ended:
		l.ended <- nil
		if err != nil {
			t.Error(err)
		}
	case <-time.After(forever):
		t.Error("it waits for the time of before")
	}
}

// Places that a request holds in Redis are free when it has ended, on whatever machine.
func TestPlacesOfTheFleet(t *testing.T) {
	t.Parallel()
	s := redislab.Start(t)
	text := strings.NewReplacer("ADDR", s.Addr, "rate: 10r/h, algorithm: window", "concurrent: 2").Replace(keyed)
	slow, under, free := slowBackend(t)
	text = strings.ReplaceAll(text, "BACKEND", slow)
	all := machines(t, 2, strings.Replace(text, "web-1", "NAME", 1), nil)
	ended := make(chan int, 2)
	for _, l := range all {
		l.clientOf("web.sock")
		go func() {
			res, err := l.try("web.sock", "/slow", "X-Key", "a")
			if err != nil {
				ended <- 0
				return
			}
			ended <- res.StatusCode
		}()
	}
	for range all {
		select {
		case <-under:
		case status := <-ended:
			t.Fatalf("who is to hold a place got %d", status)
		}
	}
	for _, l := range all {
		l.wantTally("/", "a", 3, 0, http.StatusTooManyRequests)
	}
	free()
	for range all {
		if status := <-ended; status != http.StatusOK {
			t.Errorf("who held a place got %d", status)
		}
	}
	for _, l := range all {
		eventually(t, "a place is free", func() bool { return l.get("web.sock", "/", "X-Key", "a").StatusCode == http.StatusOK })
	}
}

// A place that a request holds is free when it has ended, though the file has other connections since, and the time-out of a
// drain is over.
func TestPlacesOverAReload(t *testing.T) {
	t.Parallel()
	s := redislab.Start(t)
	slow, under, free := slowBackend(t)
	text := strings.NewReplacer("ADDR", s.Addr, "rate: 10r/h, algorithm: window", "concurrent: 1", "BACKEND", slow).Replace(keyed) + "timeouts: {drain: 10ms}\n"
	l := newLab(t, text)
	l.start()
	l.clientOf("web.sock")
	ended := make(chan error, 1)
	go func() {
		_, err := l.try("web.sock", "/slow", "X-Key", "a")
		ended <- err
	}()
	select {
	case <-under:
	case err := <-ended:
		t.Fatalf("who is to hold a place got none: %v", err)
	}
	l.reload(strings.Replace(text, "timeout: 1s", "timeout: 900ms", 1))
	began := time.Now()
	l.wantTally("/", "a", 100, 0, http.StatusTooManyRequests) // the drain is over meanwhile
	free()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	eventually(t, "the place is free", func() bool { return l.get("web.sock", "/", "X-Key", "a").StatusCode == http.StatusOK })
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the place was free only when nobody had renewed it for long enough, after %v", took)
	}
}

// What one machine hands down the kernels of others are told, but for what each must not drop.
func TestRulesOfTheFleet(t *testing.T) {
	t.Parallel()
	s := redislab.Start(t)
	text := fmt.Sprintf(`
redis: {addrs: [%q], name: NAME}
fleet: {}
kernel: {interfaces: [eth9]}
listen: ["unix:DIR/web.sock"]
upstream: ["http://192.0.2.80:9000"]
admin: {socket: DIR/admin.sock}
http: {client_ip: {header: X-Forwarded-For, trusted_proxies: [198.51.100.0/24]}}
handdown: {after: 1, within: 10s, for: 1h}
`, s.Addr)
	all := machines(t, 2, text, nil)
	wantFleet(t, all)
	report := func(prefix string) {
		t.Helper()
		if _, err := all[0].agent.Report(admin.Report{Prefix: netip.MustParsePrefix(prefix), Count: 1}); err != nil {
			t.Fatal(err)
		}
	}
	report("203.0.113.7/32")
	eventually(t, "the other one drops it", func() bool { return len(all[1].fleetRules()) == 1 })
	r := all[1].fleetRules()[0]
	if r.Prefix.String() != "203.0.113.7/32" || r.Action != config.Block || r.Person || r.By != "web-1" || r.For > time.Hour || r.For < 59*time.Minute {
		t.Errorf("%+v", r)
	}

	rule := func(prefix string) admin.FleetRule {
		return admin.FleetRule{Prefix: netip.MustParsePrefix(prefix), Action: config.Block}
	}
	spared, err := all[1].agent.SetFleet([]admin.FleetRule{rule("198.18.5.0/24"), rule("198.51.100.9/32"), rule("127.0.0.0/8"), rule("192.0.2.80/32")})
	if err != nil {
		t.Fatal(err)
	}
	if len(spared) != 3 || spared[0].Prefix != rule("127.0.0.0/8").Prefix || spared[2].Reason != "a trusted proxy is in it, whose packets are those of its clients" {
		t.Errorf("spared: %+v", spared)
	}
	wantKnown(t, all[1], "127.0.0.0/8 block by web-2: a server of redis is in it", "192.0.2.80/32 block by web-2: a server of the upstream is in it", "198.18.5.0/24 block by web-2: in force",
		"198.51.100.9/32 block by web-2: a trusted proxy is in it, whose packets are those of its clients", "203.0.113.7/32 block by web-1: in force")
	eventually(t, "both know it", func() bool { return len(all[0].fleetRules()) > 0 && len(all[1].fleetRules()) == 2 })
	for _, l := range all {
		for _, addr := range []string{"198.51.100.9", "127.0.0.1", "192.0.2.80"} {
			if slices.ContainsFunc(l.fleetRules(), func(r fleet.Rule) bool { return r.Prefix.Contains(netip.MustParseAddr(addr)) }) {
				t.Errorf("the trusted proxy, Redis or the upstream is blocked: %+v", l.fleetRules())
			}
		}
	}
	all[0].reload(strings.NewReplacer("NAME", "web-1", "192.0.2.80", "198.18.5.80").Replace(text))
	upstream := netip.MustParseAddr("198.18.5.80")
	eventually(t, "what the file protects by now is free at once", func() bool {
		return !slices.ContainsFunc(all[0].fleetRules(), func(r fleet.Rule) bool { return r.Prefix.Contains(upstream) })
	})
	if _, err := all[0].agent.SetFleet([]admin.FleetRule{rule("10.0.0.0/7")}); !errors.As(err, new(admin.Refusal)) {
		t.Errorf("a rule that no fleet may have: %v", err)
	}
	had, err := all[0].agent.UnsetFleet([]netip.Prefix{netip.MustParsePrefix("198.18.5.0/24"), netip.MustParsePrefix("10.0.0.0/8")})
	if err != nil || len(had) != 1 || had[0].String() != "198.18.5.0/24" {
		t.Errorf("taken back: %v, %v", had, err)
	}
	eventually(t, "it is free on both", func() bool { return len(all[1].fleetRules()) == 1 })

	if _, err := all[1].agent.UnsetFleet([]netip.Prefix{netip.MustParsePrefix("203.0.113.7/32")}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "so is who was handed down, where he was, too", func() bool {
		return len(all[1].fleetRules()) == 0 && len(all[0].kernel.rules()) == 0
	})
}

// wantKnown checks which rules of the fleet an agent lists, and whether they are in force there.
func wantKnown(t *testing.T, l *lab, want ...string) {
	t.Helper()
	rules, err := l.agent.FleetRules()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rules {
		here := r.Spared
		if r.InForce {
			here = "in force"
		}
		got = append(got, fmt.Sprintf("%s %s by %s: %s", r.Prefix, r.Action, r.By, here))
	}
	if !slices.Equal(got, want) {
		t.Errorf("rules %q, want %q", got, want)
	}
}

// Rules of a fleet are in force as long as the file follows one: nobody would end them after that.
func TestLeavingTheFleet(t *testing.T) {
	t.Parallel()
	s := redislab.Start(t)
	const alone = "kernel: {interfaces: [eth9]}\nadmin: {socket: DIR/admin.sock}\n"
	member := fmt.Sprintf("redis: {addrs: [%q], name: web-1}\n", s.Addr)
	redis := member + "fleet: {}\n"
	l := newLab(t, alone+redis)
	l.start()
	if _, err := l.agent.SetFleet([]admin.FleetRule{{Prefix: netip.MustParsePrefix("192.0.2.0/24"), Action: config.Block}}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		text  string
		rules int
	}{{alone + redis, 1}, {alone + member + "fleet: {follow: false}\n", 0}, {alone + redis, 1}, {alone, 0}, {alone + redis, 1}, {alone + member, 0}} {
		l.reload(step.text)
		eventually(t, fmt.Sprintf("%d rules by %s", step.rules, step.text), func() bool { return len(l.fleetRules()) == step.rules })
	}
	prefixes := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	_, unsetErr := l.agent.UnsetFleet(prefixes)
	_, setErr := l.agent.SetFleet([]admin.FleetRule{{Prefix: prefixes[0], Action: config.Block}})
	for _, err := range []error{setErr, unsetErr} {
		if !errors.Is(err, admin.ErrOff) || !strings.Contains(err.Error(), "add fleet: {}") {
			t.Errorf("without a fleet section: %v", err)
		}
	}
}

// Redis is not blocked here, whatever name it has.
func TestRedisByNameIsSpared(t *testing.T) {
	t.Parallel()
	_, port, _ := strings.Cut(redislab.Start(t).Addr, ":")
	l := newLab(t, "kernel: {interfaces: [eth9]}\nadmin: {socket: DIR/admin.sock}\nredis: {addrs: [\"localhost:"+port+"\"], name: web-1}\nfleet: {}\n")
	l.start()
	rules := []admin.FleetRule{
		{Prefix: netip.MustParsePrefix("127.0.0.0/8"), Action: config.Block}, {Prefix: netip.MustParsePrefix("192.0.2.0/24"), Action: config.Block},
	}
	if _, err := l.agent.SetFleet(rules); err != nil {
		t.Fatal(err)
	}
	if got := l.fleetRules(); len(got) != 1 || got[0].Prefix != rules[1].Prefix {
		t.Errorf("in force: %+v", got)
	}
}

// fleetRules returns the rules of the fleet that the kernel was told last.
func (l *lab) fleetRules() []fleet.Rule {
	rules, _ := l.kernel.FleetRules()
	return rules
}
