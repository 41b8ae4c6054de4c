package main

import (
	"context"
	"strings"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/headgate/headgate/test/bench/report"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/redisconn"
	"github.com/headgate/headgate/userspace/redisstore"
	"github.com/headgate/headgate/userspace/shared"
)

// gcra decides by one limit, by the server's clock. Both others and ours run it, but for redis_rate, which has its own.
const gcra = `
local call = redis.call
local t = call('TIME')
local now = t[1] * 1000000 + t[2]
local tat = call('GET', KEYS[1])
tat = math.max(tat and tonumber(tat) or now, now) + ARGV[1]
local wait = tat - now
if wait > tonumber(ARGV[2]) then return '0' end
call('SET', KEYS[1], string.format('%.0f', tat), 'PX', math.ceil(wait / 1000))
return '1'`

// The limit of each key is high enough that all pass: 10,000 a second, and a burst of a million.
const (
	rate     = 10_000
	burst    = 1_000_000
	interval = "100"       // µs
	debt     = "100000000" // µs
)

// client is one way to decide.
type client struct {
	name string
	ours bool
	open func(ctx context.Context, addr string) (decider, error)
}

// decider decides whether a request with a key may pass. Its methods may be called at the same time.
type decider struct {
	decide func(key string) (bool, error)
	close  func()
}

func clients() []client {
	return []client{
		{report.FleetBaseline, false, openRate},
		{"go-redis, a call each", false, openPlain},
		{"rueidis, pipelining", false, openRueidis},
		{report.FleetReference, true, openStore},
		{report.FleetNoop, true, openNoop},
	}
}

func openRate(ctx context.Context, addr string) (decider, error) {
	c := redis.NewClient(&redis.Options{Addr: addr})
	l := redis_rate.NewLimiter(c)
	limit := redis_rate.Limit{Rate: rate, Burst: burst, Period: time.Second}
	return decider{func(key string) (bool, error) {
		r, err := l.Allow(ctx, key, limit)
		return err == nil && r.Allowed > 0, err
	}, func() { c.Close() }}, nil
}

func openPlain(ctx context.Context, addr string) (decider, error) {
	c := redis.NewClient(&redis.Options{Addr: addr})
	script := redis.NewScript(gcra)
	return decider{func(key string) (bool, error) {
		reply, err := script.Run(ctx, c, []string{key}, interval, debt).Text()
		return strings.HasPrefix(reply, "1"), err
	}, func() { c.Close() }}, nil
}

func openRueidis(ctx context.Context, addr string) (decider, error) {
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{addr}, DisableCache: true, AlwaysPipelining: true, PipelineMultiplex: -1,
	})
	if err != nil {
		return decider{}, err
	}
	script := rueidis.NewLuaScript(gcra)
	return decider{func(key string) (bool, error) {
		reply, err := script.Exec(ctx, c, []string{key}, []string{interval, debt}).ToString()
		return strings.HasPrefix(reply, "1"), err
	}, c.Close}, nil
}

// openStore opens what zones with store redis decide by.
func openStore(_ context.Context, addr string) (decider, error) {
	c, err := open(addr)
	if err != nil {
		return decider{}, err
	}
	s := redisstore.New(redisstore.Options{Conn: c, Prefix: "bench"})
	limit := shared.Limit{Algorithm: config.Leaky, Count: rate, Per: time.Second, Burst: burst, Delay: burst}
	return decider{func(key string) (bool, error) {
		charges := [1]shared.Charge{{Zone: "zone", Limit: limit, Key: key, N: 1}}
		return s.Take(key, charges[:], 0)
	}, func() { c.Close() }}, nil
}

func open(addr string) (*redisconn.Conn, error) {
	return redisconn.Open(redisconn.Options{Config: config.Redis{Addrs: []string{addr}, Timeout: time.Second}})
}

func openNoop(_ context.Context, addr string) (decider, error) { return openConn(addr, `return '1'`) }

// openConn opens a decider by a script.
func openConn(addr, source string) (decider, error) {
	c, err := open(addr)
	if err != nil {
		return decider{}, err
	}
	script := redisconn.NewScript(source)
	args := []string{interval, debt}
	return decider{func(key string) (bool, error) {
		reply, err := c.Do(redisconn.Call{Script: script, Keys: []string{key}, Args: args}, 0)
		return strings.HasPrefix(reply, "1"), err
	}, func() { c.Close() }}, nil
}
