package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/userspace/adaptive"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
	"github.com/headgate/headgate/userspace/fleet"
	"github.com/headgate/headgate/userspace/gateway"
	"github.com/headgate/headgate/userspace/logging"
	"github.com/headgate/headgate/userspace/metrics"
	"github.com/headgate/headgate/userspace/nginxlog"
	"github.com/headgate/headgate/userspace/ruleset"
	"github.com/headgate/headgate/userspace/seldom"
	"github.com/headgate/headgate/userspace/systemd"
	"github.com/headgate/headgate/userspace/watch"
)

// Options are what an agent is made of.
type Options struct {
	// Path of the configuration file.
	Path string
	// Version of headgate, for metrics and status.
	Version string
	// Kernel opens the kernel's limiter. It is called when a file with a kernel section is read first.
	Kernel func(log *slog.Logger) (Kernel, error)
	// Sockets are those that systemd has opened.
	Sockets gateway.Sockets
	// Started is called once, when all that the first file says is in force: it may give up privileges. An error ends
	// the agent.
	Started func(file *config.File) error
	Stderr  io.Writer
	// Clock returns the time since an instant that stays the same, by which limits are kept; it should be above a
	// minute. By default it is an hour before the agent began.
	Clock func() time.Duration
}

// Agent is the process that runs both limiters.
type Agent struct {
	options Options
	log     *slog.Logger
	logs    *logging.Log
	bus     event.Bus
	clock   func() time.Duration
	started time.Time
	stop    context.CancelFunc // ends Run
	closing chan struct{}      // closed when Run ends

	metrics    *metrics.Metrics
	controller atomic.Pointer[adaptive.Controller] // nil unless the rates are adapted
	refusals   sampler
	fleet      atomic.Pointer[fleet.Fleet] // nil without a redis section
	placing    sync.Mutex                  // held while a member changes the kernel
	nginx      nginxlog.Counters           // of all logs
	local      local
	blind      seldom.Event // the kernel could not be asked for its interfaces

	background sync.WaitGroup

	// changing is held while the configuration or what follows from it changes, which may take seconds; mu while the
	// result is written, and to read it.
	changing sync.Mutex
	mu       sync.RWMutex
	state    state
}

// New returns an agent that has done nothing yet.
func New(o Options) *Agent {
	began := time.Now()
	a := &Agent{options: o, started: began, clock: o.Clock, closing: make(chan struct{})}
	if a.clock == nil {
		a.clock = func() time.Duration { return time.Since(began) + time.Hour }
	}
	return a
}

// Run does what the file says until ctx ends or Drain is called, and then lets requests under way end. The kernel's
// limiter stays in force. An error says why the agent could not start, or what it had to cut off.
func (a *Agent) Run(ctx context.Context) error {
	ctx, a.stop = context.WithCancel(ctx)
	defer a.stop()
	if err := a.start(ctx); err != nil {
		return errors.Join(err, a.end())
	}
	systemd.Ready("limiting by " + a.options.Path)
	a.do(func() { systemd.Watch(ctx, a.well) })
	a.do(func() { a.follow(ctx) })
	<-ctx.Done()
	systemd.Stopping()
	a.bus.Publish(event.Event{Time: time.Now(), Kind: event.Draining})
	a.log.Info("draining", "at_most", a.drain())
	return a.end()
}

// drain returns how long requests under way may take in the end.
func (a *Agent) drain() time.Duration {
	a.mu.RLock() // a reload may be under way
	defer a.mu.RUnlock()
	return a.state.drain()
}

// do runs f in the background; end waits for it.
func (a *Agent) do(f func()) { a.background.Go(f) }

// start brings the first configuration into force.
func (a *Agent) start(ctx context.Context) error {
	a.changing.Lock()
	defer a.changing.Unlock()
	a.state.ctx = ctx
	r, err := a.read()
	if err != nil {
		return err
	}
	if a.logs, err = logging.New(r.file.Log, a.options.Stderr); err != nil {
		return err
	}
	a.log = a.logs.Logger()
	if err := a.begin(); err != nil {
		return err
	}
	if err := a.apply(r); err != nil {
		return err
	}
	if a.options.Started == nil {
		return nil
	}
	return a.options.Started(r.file)
}

// begin makes what no configuration changes.
func (a *Agent) begin() error {
	live, err := ruleset.NewLive(config.HTTP{}, ruleset.Fleet{})
	if err != nil {
		return err
	}
	a.state.rules = rules{live: live, factor: 1, clock: a.clock}
	a.state.decider.live = live
	a.metrics = a.newMetrics()
	return nil
}

// follow reads the configuration again when it has changed.
func (a *Agent) follow(ctx context.Context) {
	files := func() []string {
		a.mu.RLock()
		defer a.mu.RUnlock()
		return sources(a.options.Path, a.state.file)
	}
	a.mu.RLock()
	known := a.state.sum
	a.mu.RUnlock()
	notices, err := watch.NewNotices()
	if err != nil {
		a.log.Warn("changes of the configuration are seen within a minute, as the kernel tells nothing; reload by SIGHUP, or raise fs.inotify.max_user_instances", "error", err)
	}
	defer notices.Close()
	watch.Files(ctx, notices, known, files, func() { a.reloadChanged(files) })
}

// Drain makes Run end, and returns at once.
func (a *Agent) Drain() { a.stop() }

// well reports whether the agent still decides: a request that nobody sent is looked at.
func (a *Agent) well() bool {
	a.state.rules.live.Explain(&ruleset.Request{Method: "GET", Path: "/"}, a.clock())
	return true
}

// end ends everything but the kernel's limiter. Until the requests under way have ended, whoever asks is told that the
// agent drains.
func (a *Agent) end() error {
	a.stop()
	a.changing.Lock() // who changes something ends first; nobody begins to after that
	serving, telling := split(a.state.fronts)
	a.state.sockets.keep(telling) // who connects now is to be refused, and not to wait
	a.changing.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), a.state.drain())
	defer cancel()
	err := a.shutdown(ctx, serving)
	close(a.closing)
	a.state.sockets.keep(nil)
	a.tellNoMore(telling)
	if s := a.state.sharing; s != nil {
		s.stop()
	}
	a.background.Wait()
	err = errors.Join(err, a.close())
	if a.logs == nil {
		return err
	}
	a.log.Info("ended")
	return errors.Join(err, a.logs.Close())
}

// split returns the fronts that serve clients, and those that tell how the agent is.
func split(all []*front) (serving, telling []*front) {
	for _, f := range all {
		switch f.role {
		case metricsRole, adminRole, tokenRole:
			telling = append(telling, f)
		default:
			serving = append(serving, f)
		}
	}
	return serving, telling
}

// lastWords is how long whoever asks how the agent is may take in the end.
const lastWords = 2 * time.Second

// tellNoMore ends the fronts that tell how the agent is. Whom it cuts off asks another one.
func (a *Agent) tellNoMore(fronts []*front) {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if err := a.shutdown(ctx, fronts); err != nil {
		a.log.Warn("who asked how the agent is was cut off", "error", err)
	}
}

// shutdown drains fronts, all at the same time.
func (a *Agent) shutdown(ctx context.Context, fronts []*front) error {
	errs := make([]error, len(fronts))
	var all sync.WaitGroup
	for i, f := range fronts {
		all.Go(func() { errs[i] = f.shutdown(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// close closes what has no end of its own.
func (a *Agent) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), tracePatience)
	defer cancel()
	err := a.state.tracer.Shutdown(ctx)
	if s := a.state.sharing; s != nil {
		s.close()
	}
	if a.state.kernel == nil {
		return err
	}
	return errors.Join(err, a.state.kernel.Close())
}

// problem names the configuration file in an error.
func (a *Agent) problem(err error) error {
	var wrong config.Errors
	if errors.As(err, &wrong) {
		return err // it does already
	}
	return fmt.Errorf("%s: %w", a.options.Path, err)
}
