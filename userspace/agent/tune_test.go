package agent

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/adaptive"
	"github.com/headgate/headgate/userspace/config"
)

// A decision that had to wait for a reload is not lost: it holds by the new settings, unless nothing is adapted any more.
func TestDecisionBesideAReload(t *testing.T) {
	settings := config.Adaptive{
		Interval: time.Second, Errors: 0.05, Floor: 0.1, Ceiling: 1, Increase: 0.05, Decrease: 0.5, Recover: 0.8, HTTP: true,
	}
	higher, observing := settings, settings
	higher.Floor, observing.Observe = 0.8, true
	for name, tt := range map[string]struct {
		now  *config.Adaptive
		want float64
	}{
		"the same": {&settings, 0.5}, "another floor": {&higher, 0.8}, "observing": {&observing, 1}, "none": {nil, 1},
	} {
		a := New(Options{})
		a.log = slog.New(slog.DiscardHandler)
		var stop context.CancelFunc
		a.state.ctx, stop = context.WithCancel(t.Context())
		if err := a.begin(); err != nil {
			t.Fatal(err)
		}
		a.state.file = &config.File{Adaptive: tt.now}
		c := adaptive.New(settings, adaptive.Options{})
		a.state.adaptive = c
		for range 100 {
			c.Observe(500, time.Millisecond)
		}
		change := c.Step(time.Second)
		if tt.now == nil {
			a.state.adaptive = nil
		} else {
			c.SetConfig(*tt.now)
		}
		a.adapt(c, change)
		if got := a.state.rules.factor; got != tt.want {
			t.Errorf("%s: factor %v after %+v, want %v", name, got, change, tt.want)
		}
		stop()
		a.adapt(c, adaptive.Change{Factor: 1, Was: tt.want})
		if got := a.state.rules.factor; got != tt.want {
			t.Errorf("%s: factor %v was set when the agent had ended", name, got)
		}
	}
}

// stubborn is a kernel's limiter whose limit cannot be scaled.
type stubborn struct{ Kernel }

func (stubborn) Scale(float64) error { return errors.New("it would cut off a default gateway") }

// That the kernel refuses a factor is said once, though it is tried again at each step.
func TestRefusedFactorIsToldOnce(t *testing.T) {
	var log bytes.Buffer
	a := New(Options{})
	a.log = slog.New(slog.NewTextHandler(&log, nil))
	a.state.ctx = t.Context()
	if err := a.begin(); err != nil {
		t.Fatal(err)
	}
	settings := config.Adaptive{Interval: time.Second, Errors: 0.05, Floor: 0.1, Ceiling: 1, Kernel: true}
	a.state.file = &config.File{Adaptive: &settings, Kernel: &config.Kernel{}}
	a.state.kernel = stubborn{}
	c := adaptive.New(settings, adaptive.Options{})
	a.state.adaptive = c
	a.adapt(c, adaptive.Change{Factor: 0.5, Was: 1})
	for range 3 {
		a.adapt(c, adaptive.Change{Factor: 0.5, Was: 0.5})
	}
	if n := strings.Count(log.String(), "were not changed"); n != 1 || !a.state.unscaled {
		t.Errorf("said %d times, unscaled %t:\n%s", n, a.state.unscaled, log.String())
	}
}
