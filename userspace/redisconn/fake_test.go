package redisconn

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/dialed"
)

// fake is servers that do as a test says.
type fake struct {
	mu     sync.Mutex
	answer func(ctx context.Context, jobs []*job)
	trips  []trip
	now    int // round trips under way
	most   int // at a time
	closed bool
	dial   func() (subscription, error) // nil for nobody listens
}

// trip is a round trip that was made.
type trip struct {
	at    time.Time
	calls []string // the first key of each
}

func (f *fake) exchange(ctx context.Context, jobs []*job) {
	f.mu.Lock()
	t := trip{at: time.Now()}
	for _, j := range jobs {
		t.calls = append(t.calls, j.text[0])
	}
	f.trips = append(f.trips, t)
	f.now++
	f.most = max(f.most, f.now)
	answer := f.answer
	f.mu.Unlock()
	answer(ctx, jobs)
	f.mu.Lock()
	f.now--
	f.mu.Unlock()
}

func (f *fake) renew(context.Context) {}

func (f *fake) subscribe(context.Context, string) (subscription, error) {
	if f.dial == nil {
		return nil, errRefused
	}
	return f.dial()
}

func (f *fake) close() error { f.closed = true; return nil }

// set changes what the servers do from now on.
func (f *fake) set(answer func(ctx context.Context, jobs []*job)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

// made returns the round trips since the last look.
func (f *fake) made() []trip {
	f.mu.Lock()
	defer f.mu.Unlock()
	trips := f.trips
	f.trips = nil
	return trips
}

// after answers each call with its last argument, and so do probes, after some time.
func after(d time.Duration) func(context.Context, []*job) {
	return func(_ context.Context, jobs []*job) {
		time.Sleep(d)
		for _, j := range jobs {
			j.reply = j.text[len(j.text)-1]
		}
	}
}

// never does not answer, and gives up when ctx ends.
func never(ctx context.Context, jobs []*job) {
	<-ctx.Done()
	fail(ctx.Err())(ctx, jobs)
}

// fail answers all with an error.
func fail(err error) func(context.Context, []*job) {
	return func(_ context.Context, jobs []*job) {
		for _, j := range jobs {
			j.err = err
		}
	}
}

// answered is an error that a server answered.
type answered string

func (a answered) Error() string { return string(a) }
func (answered) RedisError()     {}

const errRefused = dialError("connection refused")

type dialError string

func (d dialError) Error() string { return string(d) }

// bench is a Conn to a fake.
type bench struct {
	*Conn
	fake   *fake
	log    logged
	states []Health
}

// logged keeps the lines of a log.
type logged struct {
	slog.Handler
	lines *[]string
}

func (l logged) Enabled(context.Context, slog.Level) bool { return true }
func (l logged) Handle(_ context.Context, r slog.Record) error {
	line := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.Key + "=" + a.Value.String()
		return true
	})
	*l.lines = append(*l.lines, line)
	return nil
}

// start returns a Conn with lanes to servers that answer in a millisecond. It is closed when the test ends.
func start(t *testing.T, lanes int, c config.Redis) *bench {
	t.Helper()
	b := &bench{fake: &fake{answer: after(time.Millisecond)}, log: logged{lines: new([]string)}}
	c.Prefix = "p"
	o := Options{Config: c, Log: slog.New(b.log), Changed: func(s State) { b.states = append(b.states, s.Health) }}
	b.Conn = open(o, b.fake, new(dialed.Addrs), lanes)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// ask returns a call that is answered with its key.
func ask(key string) Call {
	return Call{Script: NewScript("x"), Keys: []string{key}, Args: []string{key}}
}

// all makes n calls at the same time and returns how they ended, and how long the last took.
func (b *bench) all(n int) (map[error]int, time.Duration) {
	var mu sync.Mutex
	ended := map[error]int{}
	start := time.Now()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			_, err := b.Do(ask("k"), 0)
			mu.Lock()
			ended[err]++
			mu.Unlock()
		})
	}
	wg.Wait()
	return ended, time.Since(start)
}

// until makes a call each millisecond until one ends so, and returns how often it did.
func (b *bench) until(t *testing.T, want error) int {
	t.Helper()
	for n := 1; n < 10_000; n++ {
		if _, err := b.Do(ask("k"), 0); errors.Is(err, want) {
			synctest.Wait()
			return n
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("no call ends with %v", want)
	return 0
}

// well waits until the servers are, without calls.
func (b *bench) well(t *testing.T) {
	t.Helper()
	for range 100_000 {
		if b.State().Health == Up {
			synctest.Wait() // all is told
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("never well: %+v", b.State())
}
