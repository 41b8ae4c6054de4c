package agent

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/gateway"
	"github.com/headgate/headgate/userspace/tracing"
)

// tracePatience is how long a collector may take for the last spans.
const tracePatience = 5 * time.Second

// change is a configuration on its way into force: what was prepared for it, and how to undo that.
type change struct {
	*read
	fronts  []*front
	proxy   *gateway.Proxy
	tracer  *tracing.Provider
	sharing *sharing // nil for none
	rules   *nextRules
	scale   float64 // of the kernel's default limit
	undo    []func()
}

// apply brings a file into force, or changes nothing and returns an error.
func (a *Agent) apply(r *read) error {
	c := &change{read: r}
	if err := a.prepare(c); err != nil {
		c.back()
		return a.problem(err)
	}
	if err := a.commit(c); err != nil {
		c.back()
		return a.problem(err)
	}
	a.settleRules(c)
	a.settle(c)
	a.loaded(r)
	return nil
}

// back undoes what was prepared, the last first.
func (c *change) back() {
	for i := len(c.undo) - 1; i >= 0; i-- {
		c.undo[i]()
	}
}

// prepare makes beside what runs all that may not be possible.
func (a *Agent) prepare(c *change) error {
	if c.file.Kernel != nil {
		if err := a.openKernel(); err != nil {
			return err
		}
		if err := a.state.kernel.Check(*c.file.Kernel); err != nil {
			return err
		}
	}
	if section := c.file.Admin; section != nil && section.TokenFile != "" {
		if err := admin.CheckToken(section.TokenFile); err != nil {
			return err
		}
	}
	if err := a.prepareSharing(c); err != nil {
		return err
	}
	if err := a.prepareRules(c); err != nil {
		return err
	}
	if err := a.prepareProxy(c); err != nil {
		return err
	}
	if err := a.prepareTracer(c); err != nil {
		return err
	}
	return a.prepareFronts(c)
}

// openKernel opens the kernel's limiter once.
func (a *Agent) openKernel() error {
	if a.state.kernel != nil {
		return nil
	}
	k, err := a.options.Kernel(a.log)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.kernel = k
	return nil
}

// prepareRules makes the HTTP limits of the file.
func (a *Agent) prepareRules(c *change) (err error) {
	var http float64
	http, c.scale = factors(c.file.Adaptive, a.factor(c.file))
	if c.rules, err = a.state.rules.prepare(c.file.HTTP, a.machines(c.sharing), http); err == nil {
		c.undo = append(c.undo, c.rules.Drop)
	}
	return err
}

// commit brings into force what can still fail: the log, which can be taken back, and then what the kernel's limiter does or
// refuses as a whole.
func (a *Agent) commit(c *change) error {
	if err := a.logs.Set(c.file.Log); err != nil {
		return err
	}
	if c.file.Kernel == nil {
		return nil
	}
	if err := a.state.kernel.Apply(*c.file.Kernel); err != nil {
		return errors.Join(err, a.logs.Set(a.settings()))
	}
	return nil
}

// settleRules puts the HTTP limits of the file in force, and its factor on those of the kernel.
func (a *Agent) settleRules(c *change) {
	a.state.rules.commit(c.rules)
	a.state.unscaled = false
	if c.file.Kernel == nil {
		return
	}
	if err := a.state.kernel.Scale(c.scale); err != nil {
		a.state.unscaled = true // the factor of before is in force; the next step, if there is one, tries again
		a.log.Error("the default limit was not scaled", "factor", c.scale, "error", err)
	}
}

// settings returns how is logged.
func (a *Agent) settings() config.Log {
	if a.state.file == nil {
		return config.Log{Level: slog.LevelInfo}
	}
	return a.state.file.Log
}

// factor returns what the rates are to be multiplied with under a file.
func (a *Agent) factor(file *config.File) float64 {
	if file.Adaptive == nil || a.state.adaptive == nil {
		return 1
	}
	if file.Adaptive.Observe {
		return 1
	}
	return min(max(a.state.adaptive.State().Factor, file.Adaptive.Floor), file.Adaptive.Ceiling)
}

// settle does what cannot fail.
func (a *Agent) settle(c *change) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := &a.state
	before := s.file
	s.file, s.sum, s.tried = c.file, c.sum, c.sum
	s.read.successes++
	s.read.since, s.read.sha256, s.read.err = time.Now(), c.sha256, nil
	a.settleProxy(c)
	a.settleTracer(c.tracer)
	a.settleAdaptive(c)
	a.settleSharing(c)
	a.settleHandDown(c.file)
	a.settleVerifier(c.file)
	a.settleKernel(before, c.file)
	a.settleHandlers(c)
	a.settleFronts(c.fronts, before)
}

// prepareTracer makes the recorder of traces of the file, unless it is there.
func (a *Agent) prepareTracer(c *change) (err error) {
	if t := a.state.file; t != nil && c.file.Tracing != nil && t.Tracing != nil && *t.Tracing == *c.file.Tracing {
		c.tracer = a.state.tracer
		return nil
	}
	c.tracer, err = tracing.New(c.file.Tracing, tracing.Options{Version: a.options.Version, Log: a.log})
	c.undo = append(c.undo, func() { _ = c.tracer.Shutdown(context.Background()) }) // it has nothing to send
	return err
}

// settleTracer records by p from now on, and lets the one before send what it has.
func (a *Agent) settleTracer(p *tracing.Provider) {
	s := &a.state
	old := s.tracer
	s.tracer = p
	s.decider.record(p)
	if old != p {
		a.do(func() {
			ctx, cancel := context.WithTimeout(context.Background(), tracePatience)
			defer cancel()
			if err := old.Shutdown(ctx); err != nil {
				a.log.Warn("traces were lost", "error", err)
			}
		})
	}
}

// settleKernel follows what the kernel's limiter sees.
func (a *Agent) settleKernel(before, now *config.File) {
	s := &a.state
	if now.Kernel == nil {
		s.following.end()
		if before != nil && before.Kernel != nil {
			a.log.Warn("the kernel section is gone; the kernel's limiter stays as it is: `headgate detach --all` ends it")
		}
		return
	}
	if s.following.stop != nil {
		return
	}
	s.following.begin(s.ctx, a.do, func(ctx context.Context) {
		if err := s.kernel.Follow(ctx, a.bus.Publish); err != nil && ctx.Err() == nil {
			a.log.Error("the interfaces are no longer followed", "error", err)
		}
	})
}
