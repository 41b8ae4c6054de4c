package config_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/userspace/config"
)

// TestRedisByDefault: the address is enough, and one need not be in a list.
func TestRedisByDefault(t *testing.T) {
	want := &config.Redis{
		Addrs: []string{"127.0.0.1:6379"}, Mode: config.RedisSingle, Prefix: "headgate", Timeout: 20 * time.Millisecond, MaxInFlight: 1024,
	}
	for _, addrs := range []string{`["127.0.0.1:6379"]`, `"127.0.0.1:6379"`} {
		if diff := cmp.Diff(want, parse(t, "redis: {addrs: "+addrs+"}").Redis); diff != "" {
			t.Error(diff)
		}
	}
}

func TestRedisAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"redis.internal:6379": "redis.internal:6379", "[2001:db8::1]:6379": "[2001:db8::1]:6379", "10.0.0.1:006379": "10.0.0.1:6379",
	} {
		if got := parse(t, `redis: {addrs: "`+text+`"}`).Redis.Addrs; len(got) != 1 || got[0] != want {
			t.Errorf("%s: got %v, want %s", text, got, want)
		}
	}
}

// TestTLSByTheSystem: {} is TLS by the authorities of the system.
func TestTLSByTheSystem(t *testing.T) {
	if got := parse(t, `redis: {addrs: "a:1", tls: {}}`).Redis.TLS; got == nil || *got != (config.RedisTLS{}) {
		t.Errorf("got %v", got)
	}
	if got := parse(t, `redis: {addrs: "a:1"}`).Redis.TLS; got != nil {
		t.Errorf("without tls: %v", got)
	}
}

// TestFleetByDefault: what is handed down is published where something is.
func TestFleetByDefault(t *testing.T) {
	const redis, kernel = "redis: {addrs: 'a:1'}\n", "kernel: {interfaces: eth0}\n"
	want := config.Fleet{Follow: true, MaxPublished: 60, MaxRules: 100_000}
	if got := *parse(t, redis+kernel+"fleet: {}").Fleet; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	want.HandDown = true
	if got := *parse(t, redis+kernel+"handdown: {}\nadmin: {socket: /a}\nfleet: {}").Fleet; got != want {
		t.Errorf("with handdown: got %+v, want %+v", got, want)
	}
	if got := *parse(t, redis+"fleet: {follow: false}").Fleet; got != (config.Fleet{MaxPublished: 60, MaxRules: 100_000}) {
		t.Errorf("without kernel: got %+v", got)
	}
}

// TestStoreOfZones: a zone is in memory and a rule goes by local unless they say otherwise. Who closes has a status of its own for that,
// but where the rule names one.
func TestStoreOfZones(t *testing.T) {
	h := parse(t, `
redis: {addrs: "127.0.0.1:6379"}
http:
  zones:
    a: {key: ip, rate: 10r/s}
    b: {key: ip, rate: 10r/s, store: redis, lease: 9}
    c: {key: ip, concurrent: 5, store: redis}
  rules:
    - {limits: [{zone: a}, {zone: b, burst: 9}], continue: true}
    - {limits: [{zone: c}], on_store_failure: closed, continue: true}
    - {limits: [{zone: c}], on_store_failure: closed, status: 429, continue: true}
    - {limits: [{zone: c}], on_store_failure: open}
`).HTTP
	for i, want := range []string{config.StoreMemory, config.StoreRedis, config.StoreRedis} {
		if h.Zones[i].Store != want {
			t.Errorf("zone %d: store %q, want %q", i, h.Zones[i].Store, want)
		}
	}
	if h.Zones[1].Lease != 9 || h.Zones[0].Lease != 0 {
		t.Errorf("leases %d and %d, want none and 9", h.Zones[0].Lease, h.Zones[1].Lease)
	}
	for i, want := range []struct {
		fails      config.OnStoreFailure
		failStatus int
	}{{config.FailLocal, 0}, {config.FailClosed, 503}, {config.FailClosed, 0}, {config.FailOpen, 0}} {
		if r := h.Rules[i]; r.OnStoreFailure != want.fails || r.FailStatus != want.failStatus {
			t.Errorf("rule %d: %q with %d, want %+v", i, r.OnStoreFailure, r.FailStatus, want)
		}
	}
}
