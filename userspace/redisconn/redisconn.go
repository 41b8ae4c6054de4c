// Package redisconn runs scripts on Redis servers for callers who cannot wait: concurrent calls share round trips, none
// waits longer than the time-out, and servers that do not answer are left alone until they do.
//
// Calls go into the queue of a lane, of which there is one, or in a cluster sixteen that share the slots. At most two
// round trips of a lane are under way; what is asked meanwhile goes together in the next. So there is no timer that
// calls are collected by: alone a call leaves at once, and the more there are the more share a trip. Whoever asks waits for
// the answer or the time-out, and for nothing else: names are looked up, connections made and scripts sent by others.
//
// Each lane has a circuit breaker, so that a master that is gone costs others nothing but the lane that they may share.
package redisconn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/dialed"
)

// Errors of calls. What a server answers is another error, with its words.
var (
	ErrTimeout = errors.New("redis did not answer in time")
	ErrOpen    = errors.New("redis is left alone, as it did not answer")
	ErrBusy    = errors.New("too many calls to redis are under way")
	ErrClosed  = errors.New("the connections to redis are closed")
)

const (
	// clusterLanes is how many lanes a cluster's slots are divided into. A lane that two masters share suffers with
	// either; of so many those are few, and each still has calls enough to share round trips.
	clusterLanes = 16
	slots        = 16384
	// patientCalls is how many calls without haste may be under way.
	patientCalls = 8
)

// Options are what a Conn needs. Config must be set; where its Timeout or MaxInFlight is 0, the default of files holds.
type Options struct {
	Config config.Redis
	Log    *slog.Logger // told of changes of state; nil for slog.Default
	// Changed is called at each change of State.Health, one after the other. It must not wait. nil for nobody.
	Changed func(State)
}

// Conn is connections to the servers. All methods may be called at the same time.
type Conn struct {
	timeout   time.Duration
	transport transport
	addrs     []string // of Config
	met       *dialed.Addrs
	lanes     []*lane
	watch     watch
	counts    counts
	waiters   sync.Pool     // each call needs one
	patient   chan struct{} // has an element for each call without haste
	leisure   atomic.Int64  // mean of the last round trips of those, in ns

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	mu     sync.Mutex // guards Add of work against Close
	closed bool
	work   sync.WaitGroup // of all goroutines
}

// counts are the counters of State.
type counts struct {
	calls, roundTrips, timeouts, errors, busy, leftAlone, probes atomic.Uint64
}

// Open returns a Conn that connects as it is used: that no server answers is no error. A password or certificate that
// cannot be read is.
func Open(o Options) (*Conn, error) {
	met := new(dialed.Addrs)
	t, err := dial(o.Config, met)
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	n := 1
	if o.Config.Mode == config.RedisCluster {
		n = clusterLanes
	}
	return open(o, t, met, n), nil
}

// open returns a Conn whose calls a transport carries.
func open(o Options, t transport, met *dialed.Addrs, lanes int) *Conn {
	o.Config.Timeout = cmp.Or(o.Config.Timeout, config.DefaultRedisTimeout)
	o.Config.MaxInFlight = cmp.Or(o.Config.MaxInFlight, config.DefaultRedisInFlight)
	if o.Log == nil {
		o.Log = slog.Default()
	}
	c := &Conn{timeout: o.Config.Timeout, transport: t, addrs: o.Config.Addrs, met: met, patient: make(chan struct{}, patientCalls)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.watch = watch{conn: c, log: o.Log, changed: o.Changed, health: Up, since: time.Now(), told: map[string]bool{}, parts: map[string]time.Time{}}
	// Each lane has its own part, so that calls that wait for one master cannot use up the room of others'.
	room := (o.Config.MaxInFlight + lanes - 1) / lanes
	for i := range lanes {
		c.lanes = append(c.lanes, newLane(c, room, probeKeys(o.Config.Prefix, i, lanes)))
	}
	return c
}

// Do runs a call in at most Config.Timeout, of which the caller has spent some if it has waited for another call before. An error
// is ErrTimeout, ErrOpen, ErrBusy, ErrClosed or tells what the server said; the script may have run, and in a cluster whose
// connection broke even twice.
func (c *Conn) Do(call Call, spent time.Duration) (string, error) {
	w := c.newWaiter(call)
	if err := c.lane(call).enqueue(w, c.timeout-spent); err != nil {
		w.free()
		return "", err
	}
	<-w.ready
	reply, err := w.reply, w.err
	w.free()
	return reply, err
}

// Start is Do that does not wait: done, which must not wait either, is called later, or at once with ErrOpen, ErrBusy or ErrClosed.
func (c *Conn) Start(call Call, done func(reply string, err error)) {
	w := c.newWaiter(call)
	w.done = done
	if err := c.lane(call).enqueue(w, c.timeout); err != nil {
		w.free()
		done("", err)
	}
}

// DoPatiently is Do with a time-out of its own, for what no request waits for. It tries a server that is left alone, too.
func (c *Conn) DoPatiently(ctx context.Context, call Call, timeout time.Duration) (string, error) {
	c.counts.calls.Add(1)
	reply, err := c.patiently(ctx, call, timeout)
	c.counts.count(err)
	return reply, err
}

func (c *Conn) patiently(ctx context.Context, call Call, timeout time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	select {
	case c.patient <- struct{}{}:
	case <-ctx.Done():
		return "", c.ended()
	}
	done, j := make(chan struct{}), newJob(call)
	started := c.spawn(func() {
		defer func() { close(done); <-c.patient }()
		c.counts.roundTrips.Add(1)
		c.exchangeAlone(ctx, c.lane(call), j)
	})
	if !started {
		return "", ErrClosed
	}
	select {
	case <-done:
	case <-ctx.Done():
		return "", c.ended()
	}
	if j.err != nil && ctx.Err() != nil {
		return "", c.ended()
	}
	return j.reply, j.err
}

// exchangeAlone does a job in a round trip of its own. A server that fails even one without haste is not well for others: so it
// is known also while nobody else asks. One that does not is not yet well for those in haste.
func (c *Conn) exchangeAlone(ctx context.Context, l *lane, j *job) {
	begin := time.Now()
	c.transport.exchange(ctx, []*job{j})
	switch {
	case j.err == nil:
		c.leisure.Store(int64(mean(time.Duration(c.leisure.Load()), time.Since(begin))))
		l.relieve()
	case isFault(j.err) && !errors.Is(j.err, context.Canceled):
		l.complain(j.err)
	}
}

// ended returns why a call without haste is over.
func (c *Conn) ended() error {
	if c.ctx.Err() != nil {
		return ErrClosed
	}
	return ErrTimeout
}

// Reaches reports whether an address of a server is in a prefix: one that is configured, or that this process has connected
// to, or tried to.
func (c *Conn) Reaches(prefix netip.Prefix) bool {
	return c.met.In(prefix) || slices.ContainsFunc(c.addrs, func(addr string) bool {
		host, _, err := net.SplitHostPort(addr)
		return err == nil && dialed.IsIn(host, prefix)
	})
}

// Close ends all connections, and calls under way with ErrClosed. It returns when nothing runs any more.
func (c *Conn) Close() error {
	c.mu.Lock()
	closed := c.closed
	c.closed = true
	c.mu.Unlock()
	if closed {
		return nil
	}
	c.cancel()
	for _, l := range c.lanes {
		l.close()
	}
	err := c.transport.close()
	c.work.Wait()
	return err
}

// spawn runs f in a goroutine that Close waits for, unless Close was called.
func (c *Conn) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.work.Go(f)
	}
	return !c.closed
}

// lane returns that of a call's keys.
func (c *Conn) lane(call Call) *lane {
	if len(c.lanes) == 1 {
		return c.lanes[0]
	}
	return c.lanes[int(slot(call.Keys[0]))*len(c.lanes)/slots]
}
