package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/redisconn"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

const gcra = `
local t = redis.call('TIME')
local now = t[1]*1000000 + t[2]
local tat = tonumber(redis.call('GET', KEYS[1]) or now)
if tat < now then tat = now end
local new = tat + ARGV[1]
if new - now > tonumber(ARGV[2]) then return '0 ' .. (new - now) end
redis.call('SET', KEYS[1], string.format('%.0f', new), 'PX', math.ceil((new-now)/1000))
return '1 ' .. (new - now)
`
const gcraMany = `
local t = redis.call('TIME')
local now = t[1]*1000000 + t[2]
local out = {}
for i, k in ipairs(KEYS) do
local tat = tonumber(redis.call('GET', k) or now)
if tat < now then tat = now end
local new = tat + ARGV[2*i-1]
if new - now > tonumber(ARGV[2*i]) then out[i] = '0 ' .. (new - now) else
redis.call('SET', k, string.format('%.0f', new), 'PX', math.ceil((new-now)/1000))
out[i] = '1 ' .. (new - now)
end
end
return out
`

func wrap(source string) string {
	return "local function run(KEYS, ARGV)\n" + source + "\nend\n" + `
local keys, args, out, k, a, n = KEYS, ARGV, {}, 0, 0, 0
local total = #args
while a < total do
	local nk, na = args[a+1], args[a+2]
	local ks, as = {}, {}
	for i = 1, nk do ks[i] = keys[k+i] end
	for i = 1, na do as[i] = args[a+2+i] end
	k, a, n = k + nk, a + 2 + na, n + 1
	local ok, r = pcall(run, ks, as)
	if ok then out[n] = r else out[n] = '-' .. (type(r) == 'table' and r.err or r) end
end
return out
`
}

var ctx = context.Background()

type contender struct {
	name   string
	decide func(key string) error
}

type call struct {
	key  string
	done chan error
	res  string
}

type batcher struct {
	mu      sync.Mutex
	queue   []*call
	writers int
	max     int
	limit   int
	send    func([]*call)
	wake    chan struct{}
	trips   atomic.Int64
}

var pool = sync.Pool{New: func() any { return &call{done: make(chan error, 1)} }}

func newBatcher(writers, limit int, send func([]*call)) *batcher {
	b := &batcher{limit: limit, send: send, wake: make(chan struct{}, writers)}
	for range writers {
		go b.run()
	}
	return b
}

func (b *batcher) run() {
	var mine []*call
	for range b.wake {
		for {
			b.mu.Lock()
			n := min(len(b.queue), b.limit)
			mine = append(mine[:0], b.queue[:n]...)
			b.queue = append(b.queue[:0], b.queue[n:]...)
			b.mu.Unlock()
			if n == 0 {
				break
			}
			b.trips.Add(1)
			b.send(mine)
		}
	}
}

func (b *batcher) do(key string) error {
	c := pool.Get().(*call)
	c.key = key
	b.mu.Lock()
	b.queue = append(b.queue, c)
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
	err := <-c.done
	pool.Put(c)
	return err
}

func main() {
	addr := "127.0.0.1:7399"
	srv := exec.Command("redis-server", "--port", "7399", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--daemonize", "no")
	if err := srv.Start(); err != nil {
		panic(err)
	}
	defer srv.Process.Kill()
	time.Sleep(500 * time.Millisecond)
	parallel := 64
	if len(os.Args) > 1 {
		parallel, _ = strconv.Atoi(os.Args[1])
	}
	const interval, burst = "100", "10000000"

	plain := redis.NewClient(&redis.Options{Addr: addr})
	one := redis.NewScript(gcra)
	one.Load(ctx, plain)
	many := redis.NewScript(gcraMany)
	many.Load(ctx, plain)
	noop := redis.NewScript("return '1'")
	noop.Load(ctx, plain)
	rr := redis_rate.NewLimiter(redis.NewClient(&redis.Options{Addr: addr}))
	limit := redis_rate.Limit{Rate: 10000, Burst: 1000000, Period: time.Second}

	b1 := redis.NewClient(&redis.Options{Addr: addr, PoolSize: 10, Protocol: 2, MaxRetries: -1})
	pipe := func(sha string, extra ...any) func(cs []*call) {
		return func(cs []*call) {
			p := b1.Pipeline()
			cmds := make([]*redis.Cmd, len(cs))
			for i, c := range cs {
				args := append([]any{"evalsha", sha, 1, c.key}, extra...)
				cmds[i] = redis.NewCmd(ctx, args...)
				p.Process(ctx, cmds[i])
			}
			p.Exec(ctx)
			for i, c := range cs {
				c.res, _ = cmds[i].Text()
				c.done <- cmds[i].Err()
			}
		}
	}
	manySend := func(cs []*call) {
		args := make([]any, 0, 3+3*len(cs))
		args = append(args, "evalsha", many.Hash(), len(cs))
		for _, c := range cs {
			args = append(args, c.key)
		}
		for range cs {
			args = append(args, interval, burst)
		}
		v, err := b1.Do(ctx, args...).Slice()
		for i, c := range cs {
			if err == nil {
				c.res = v[i].(string)
			}
			c.done <- err
		}
	}
	batchers := map[string]*batcher{}
	for _, w := range []int{1, 2, 4} {
		batchers[fmt.Sprintf("c goredis batch w=%d", w)] = newBatcher(w, 128, pipe(one.Hash(), interval, burst))
	}
	batchers["c noop w=2"] = newBatcher(2, 128, pipe(noop.Hash(), interval, burst))
	batchers["c noop w=1"] = newBatcher(1, 128, pipe(noop.Hash(), interval, burst))
	wrapped, wnoop := redis.NewScript(wrap(gcra)), redis.NewScript(wrap("return '1'"))
	wrapped.Load(ctx, plain)
	wnoop.Load(ctx, plain)
	wsend := func(sha string) func(cs []*call) {
		return func(cs []*call) {
			args := make([]any, 0, 3+5*len(cs))
			args = append(args, "evalsha", sha, len(cs))
			for _, c := range cs {
				args = append(args, c.key)
			}
			for range cs {
				args = append(args, "1", "2", interval, burst)
			}
			v, err := b1.Do(ctx, args...).Slice()
			for i, c := range cs {
				if err == nil {
					c.res = v[i].(string)
				}
				c.done <- err
			}
		}
	}
	for _, w := range []int{1, 2} {
		batchers[fmt.Sprintf("f wrap w=%d", w)] = newBatcher(w, 128, wsend(wrapped.Hash()))
		batchers[fmt.Sprintf("f wrap noop w=%d", w)] = newBatcher(w, 128, wsend(wnoop.Hash()))
		batchers[fmt.Sprintf("e many w=%d", w)] = newBatcher(w, 128, manySend)
	}
	rc := func(mult int, delay time.Duration) rueidis.Client {
		c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, PipelineMultiplex: mult, MaxFlushDelay: delay, AlwaysPipelining: true})
		if err != nil {
			panic(err)
		}
		return c
	}
	rueidisDo := func(c rueidis.Client) func(string) error {
		return func(key string) error {
			_, err := c.Do(ctx, c.B().Evalsha().Sha1(one.Hash()).Numkeys(1).Key(key).Arg(interval, burst).Build()).ToString()
			return err
		}
	}
	r0, r2, rd := rc(-1, 0), rc(2, 0), rc(-1, 20*time.Microsecond)
	rb, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, PipelineMultiplex: -1})
	if err != nil {
		panic(err)
	}
	batchers["d2 rueidis DoMulti batch w=1"] = newBatcher(1, 128, func(cs []*call) {
		cmds := make([]rueidis.Completed, len(cs))
		for i, c := range cs {
			cmds[i] = rb.B().Evalsha().Sha1(one.Hash()).Numkeys(1).Key(c.key).Arg(interval, burst).Build()
		}
		for i, r := range rb.DoMulti(ctx, cmds...) {
			cs[i].res, err = r.ToString()
			cs[i].done <- err
		}
	})
	batchers["d2 rueidis DoMulti batch w=2"] = newBatcher(2, 128, batchers["d2 rueidis DoMulti batch w=1"].send)
	contenders := []contender{
		{"a redis_rate", func(k string) error { _, err := rr.Allow(ctx, k, limit); return err }},
		{"b goredis plain", func(k string) error { return plain.EvalSha(ctx, one.Hash(), []string{k}, interval, burst).Err() }},
		{"d rueidis mult=1", rueidisDo(r0)},
		{"d rueidis mult=4", rueidisDo(r2)},
		{"d rueidis delay20us", rueidisDo(rd)},
	}
	conn, err := redisconn.Open(redisconn.Options{Config: config.Redis{Addrs: []string{addr}, Timeout: time.Second, Prefix: "x:"}})
	if err != nil {
		panic(err)
	}
	sc, np := redisconn.NewScript(gcra), redisconn.NewScript("return '1'")
	contenders = append(contenders, contender{"z ours gcra", func(k string) error {
		_, err := conn.Do(redisconn.Call{Script: sc, Keys: []string{k}, Args: []string{interval, burst}})
		return err
	}}, contender{"z ours noop", func(k string) error {
		_, err := conn.Do(redisconn.Call{Script: np, Keys: []string{k}, Args: []string{interval, burst}})
		return err
	}})
	var names []string
	for n := range batchers {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		contenders = append(contenders, contender{n, batchers[n].do})
	}
	if len(os.Args) > 2 {
		contenders = slices.DeleteFunc(contenders, func(c contender) bool { return c.name[0] != 'a' && !strings.Contains(c.name, os.Args[2]) })
	}
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = "k:" + strconv.Itoa(i)
	}
	type result struct{ rate, p50, p99, cpu float64 }
	results := map[string][]result{}
	for round := range 6 {
		for _, c := range contenders {
			c0 := cpu()
			rate, p50, p99 := measure(parallel, c.decide, keys)
			used := (cpu() - c0) / (rate * 0.4) * 1e6
			if round > 0 {
				results[c.name] = append(results[c.name], result{rate, p50, p99, used})
			}
		}
	}
	med := func(rs []result, f func(result) float64) float64 {
		var v []float64
		for _, r := range rs {
			v = append(v, f(r))
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	base := 0.0
	for i, c := range contenders {
		rs := results[c.name]
		rate := med(rs, func(r result) float64 { return r.rate })
		if i == 0 {
			base = rate
		}
		fmt.Printf("%-32s %8.0f/s x%.2f p50 %6.0fus p99 %6.0fus  client %.1fus\n", c.name, rate, rate/base, med(rs, func(r result) float64 { return r.p50 }), med(rs, func(r result) float64 { return r.p99 }), med(rs, func(r result) float64 { return r.cpu }))
	}
	_ = math.Abs
}

func cpu() float64 {
	var u syscall.Rusage
	syscall.Getrusage(0, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func measure(parallel int, decide func(string) error, keys []string) (rate, p50, p99 float64) {
	var wg sync.WaitGroup
	lat := make([][]float64, parallel)
	end := time.Now().Add(400 * time.Millisecond)
	start := time.Now()
	for i := range parallel {
		wg.Go(func() {
			for n := i * 17; ; n++ {
				t := time.Now()
				if t.After(end) {
					return
				}
				if err := decide(keys[n%len(keys)]); err != nil {
					panic(err)
				}
				lat[i] = append(lat[i], float64(time.Since(t).Microseconds()))
			}
		})
	}
	wg.Wait()
	took := time.Since(start).Seconds()
	all := slices.Concat(lat...)
	slices.Sort(all)
	return float64(len(all)) / took, all[len(all)/2], all[len(all)*99/100]
}
