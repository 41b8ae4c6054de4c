package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/userspace/adaptive"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/event"
	"github.com/headgate/headgate/userspace/fleet"
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

// reluctant is a kernel's limiter that refuses to be scaled so many times, and notes the factors.
type reluctant struct {
	counting
	refusals int
	factors  []float64
}

func (*reluctant) SetFleet([]fleet.Rule) error { return nil }

func (k *reluctant) Scale(factor float64) error {
	if k.refusals > 0 {
		k.refusals--
		return errors.New("it would cut off a default gateway")
	}
	k.factors = append(k.factors, factor)
	return nil
}

func (k *reluctant) Follow(ctx context.Context, _ func(event.Event)) error {
	<-ctx.Done()
	return nil
}

// adapting returns a file whose rates are adapted, in steps that only a test takes.
func adapting(t *testing.T, rate string) *read {
	t.Helper()
	file, err := config.Parse("headgate.yaml", []byte(`
kernel: {interfaces: [lab0], default: {rate: 1kpps}}
upstream: ["http://127.0.0.1:1"]
listen: ["unix:`+t.TempDir()+`/s"]
http:
  zones: {perip: {key: ip, rate: `+rate+`}}
  rules: [{limits: [{zone: perip, burst: 20}]}]
adaptive: {errors: 5%, interval: 1h, scale: [http, kernel]}
`))
	if err != nil {
		t.Fatal(err)
	}
	return &read{file: file}
}

// The factor on the rates stays over a reload, above and in the kernel; and one that could not be set everywhere is set later.
func TestFactorOverAReload(t *testing.T) {
	k := new(reluctant)
	a := bare(t, k)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(a.apply(adapting(t, "10r/s")))
	c := a.state.adaptive
	for range 100 {
		c.Observe(500, time.Millisecond)
	}
	change := c.Step(a.clock() + time.Hour)
	factor := change.Factor
	if factor >= 1 {
		t.Fatalf("the factor is %v", factor)
	}
	k.refusals = 2
	a.adapt(c, change)
	steady := adaptive.Change{Factor: factor, Was: factor}
	a.adapt(c, steady) // refused again
	a.adapt(c, steady)
	a.adapt(c, steady) // nothing is left to do
	k.refusals = 1
	must(a.apply(adapting(t, "30r/s")))
	if !a.state.unscaled {
		t.Error("the refusal of the reload is not noted")
	}
	a.adapt(c, steady)
	must(a.apply(adapting(t, "50r/s")))
	if want := []float64{1, factor, factor, factor}; !slices.Equal(k.factors, want) {
		t.Errorf("factors of the kernel are %v, want %v", k.factors, want)
	}
	if want := fmt.Sprintf("(50r/s x %v)", factor); !strings.HasSuffix(a.state.rules.live.Config().Zones[0].Quota.Text, want) {
		t.Errorf("the zone's rate is %s, want %s", a.state.rules.live.Config().Zones[0].Quota.Text, want)
	}
	must(a.end())
}
