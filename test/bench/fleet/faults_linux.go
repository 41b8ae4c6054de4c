package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headgate/headgate/test/bench/report"
	"github.com/headgate/headgate/test/redislab"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/redisconn"
)

const (
	faultTimeout = 20 * time.Millisecond
	faultCallers = 64
	faultPause   = time.Millisecond
)

// fault is one way for Redis to break, and the end of that.
type fault struct {
	name       string
	harm, mend func(ctx context.Context, s *server, p *redislab.Proxy) error
}

func faults() []fault {
	return []fault{
		{
			"kill -9, then empty",
			func(_ context.Context, s *server, _ *redislab.Proxy) error { s.kill(); return nil },
			func(ctx context.Context, s *server, _ *redislab.Proxy) error { return s.begin(ctx) },
		},
		{
			"SIGSTOP",
			func(_ context.Context, s *server, _ *redislab.Proxy) error { return s.signal(unix.SIGSTOP) },
			func(_ context.Context, s *server, _ *redislab.Proxy) error { return s.signal(unix.SIGCONT) },
		},
		{
			"200 ms away",
			func(_ context.Context, _ *server, p *redislab.Proxy) error {
				p.Delay(200 * time.Millisecond)
				return nil
			},
			func(_ context.Context, _ *server, p *redislab.Proxy) error { p.Delay(0); return nil },
		},
		{
			"no disk (MISCONF)",
			func(ctx context.Context, s *server, _ *redislab.Proxy) error { return s.noDisk(ctx) },
			func(ctx context.Context, s *server, _ *redislab.Proxy) error { return s.disk(ctx) },
		},
		{
			"no memory (OOM)",
			func(ctx context.Context, s *server, _ *redislab.Proxy) error {
				return s.admin.ConfigSet(ctx, "maxmemory", "1").Err()
			},
			func(ctx context.Context, s *server, _ *redislab.Proxy) error {
				return s.admin.ConfigSet(ctx, "maxmemory", "0").Err()
			},
		},
	}
}

// measureFaults breaks a server of its own in one way after the other, while calls are made.
func measureFaults(ctx context.Context, p plan, progress io.Writer) ([]report.Fault, error) {
	s, err := startServer(ctx)
	if err != nil {
		return nil, err
	}
	defer s.end()
	var all []report.Fault
	for _, f := range append([]fault{{name: "none"}}, faults()...) {
		fmt.Fprintf(progress, "fleet: %s\n", f.name)
		one, err := f.measure(ctx, s, p.fault)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		all = append(all, one)
	}
	return all, nil
}

// measure has callers ask before the fault, while it lasts, and until all is well again.
func (f fault) measure(ctx context.Context, s *server, lasts time.Duration) (report.Fault, error) {
	proxy, err := redislab.Listen(ctx, s.addr)
	if err != nil {
		return report.Fault{}, err
	}
	defer proxy.Close()
	conn, err := redisconn.Open(redisconn.Options{
		Config: config.Redis{Addrs: []string{proxy.Addr}, Timeout: faultTimeout}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return report.Fault{}, err
	}
	defer conn.Close()
	c := callers{conn: conn, script: redisconn.NewScript(gcra)}
	stop := c.start()
	defer stop()
	if _, err := c.back(ctx); err != nil {
		return report.Fault{}, err
	}
	c.longest.Store(0)
	c.timer.Store(0)
	r := report.Fault{Name: f.name, Timeout: faultTimeout}
	if f.harm != nil {
		if err := f.harm(ctx, s, proxy); err != nil {
			return r, err
		}
	}
	time.Sleep(lasts)
	if f.mend != nil {
		if err := f.mend(ctx, s, proxy); err != nil {
			return r, err
		}
	}
	r.Back, err = c.back(ctx)
	stop()
	r.Longest, r.Timer, r.Calls = time.Duration(c.longest.Load()), time.Duration(c.timer.Load()), int(c.calls.Load())
	return r, err
}

// callers make calls all the time.
type callers struct {
	conn    *redisconn.Conn
	script  *redisconn.Script
	calls   atomic.Int64
	well    atomic.Int64 // calls that were answered
	longest atomic.Int64 // ns
	timer   atomic.Int64 // ns that a mere timer took at the longest, of the same length as the time-out
}

// start starts them, and returns what ends them.
func (c *callers) start() (stop func()) {
	end := make(chan struct{})
	var group sync.WaitGroup
	for i := range faultCallers {
		group.Go(func() {
			for n := i; ; n++ {
				select {
				case <-end:
					return
				case <-time.After(faultPause):
					c.call("key " + strconv.Itoa(n%1000))
				}
			}
		})
	}
	group.Go(func() { c.watchTimers(end) })
	return sync.OnceFunc(func() { close(end); group.Wait() })
}

// watchTimers has timers run beside the callers: what they take longer, the machine took.
func (c *callers) watchTimers(end chan struct{}) {
	var group sync.WaitGroup
	defer group.Wait()
	for {
		select {
		case <-end:
			return
		case <-time.After(faultPause):
			group.Go(func() {
				begin := time.Now()
				time.Sleep(faultTimeout)
				raise(&c.timer, time.Since(begin))
			})
		}
	}
}

// raise makes the longest of the times at least d.
func raise(longest *atomic.Int64, d time.Duration) {
	for was := longest.Load(); int64(d) > was && !longest.CompareAndSwap(was, int64(d)); was = longest.Load() {
	}
}

func (c *callers) call(key string) {
	begin := time.Now()
	_, err := c.conn.Do(redisconn.Call{Script: c.script, Keys: []string{key}, Args: []string{interval, debt}}, 0)
	raise(&c.longest, time.Since(begin))
	c.calls.Add(1)
	if err == nil {
		c.well.Add(1)
	}
}

// back waits until the servers are asked for all calls, and as many as there are callers were answered then.
func (c *callers) back(ctx context.Context) (time.Duration, error) {
	begin := time.Now()
	for well := int64(-1); ctx.Err() == nil; time.Sleep(time.Millisecond) {
		switch {
		case c.conn.State().Health != redisconn.Up:
			well = -1
		case well < 0:
			well = c.well.Load()
		case c.well.Load() >= well+faultCallers:
			return time.Since(begin), nil
		}
		if time.Since(begin) > patience {
			return 0, fmt.Errorf("not back within %v: %+v", patience, c.conn.State())
		}
	}
	return 0, ctx.Err()
}
