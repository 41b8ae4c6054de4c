package ruleset_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
	"github.com/headgate/headgate/userspace/shared/bounds"
)

const scaleFile = `
http:
  zones:
    leaky:  {key: ip, rate: 10r/s, overrides: [{value: 192.0.2.1, rate: 100r/m}]}
    slow:   {key: ip, rate: 2r/h}
    fast:   {key: ip, rate: 100000000r/s}
    sketch: {key: ip, algorithm: sketch, rate: 7r/m}
    nginx:  {key: ip, algorithm: nginx, rate: 1r/m}
    window: {key: ip, algorithm: window, rate: 10r/s}
    slide:  {key: ip, algorithm: sliding, rate: 3r/h}
    slots:  {key: ip, concurrent: 5}
  rules:
    - limits:
        [{zone: leaky, burst: 5}, {zone: slow, burst: 1281022}, {zone: fast, burst: 9}, {zone: sketch}, {zone: nginx, burst: 3}, {zone: window}, {zone: slide}, {zone: slots}]
`

func texts(h config.HTTP) (all []string) {
	for _, z := range h.Zones {
		all = append(all, z.Quota.Text)
		for _, o := range z.Overrides {
			all = append(all, o.Quota.Text)
		}
	}
	return all
}

func TestScale(t *testing.T) {
	h := section(t, scaleFile)
	same := texts(h)
	for _, c := range []struct {
		factor float64
		want   []string
	}{
		{1, same}, {0, same}, {-1, same}, {math.NaN(), same},
		{0.5, []string{
			"5r/s (10r/s x 0.5)", "50r/m (100r/m x 0.5)", "2r/h (2r/h x 0.5)", "50000000r/s (100000000r/s x 0.5)",
			"3.5r/m (7r/m x 0.5)", "0.48r/m (1r/m x 0.5)", "5r/s (10r/s x 0.5)", "2r/h (3r/h x 0.5)", "",
		}},
		{1. / 3, []string{
			"3.333r/s (10r/s x 0.3333)", "33.333r/m (100r/m x 0.3333)", "2r/h (2r/h x 0.3333)", "33333333.333r/s (100000000r/s x 0.3333)",
			"2.333r/m (7r/m x 0.3333)", "0.3r/m (1r/m x 0.3333)", "3r/s (10r/s x 0.3333)", "1r/h (3r/h x 0.3333)", "",
		}},
		{1e-12, []string{
			"0.001r/s (10r/s x 1e-12)", "0.017r/m (100r/m x 1e-12)", "2r/h (2r/h x 1e-12)", "0.001r/s (100000000r/s x 1e-12)",
			"0.017r/m (7r/m x 1e-12)", "0.06r/m (1r/m x 1e-12)", "1r/s (10r/s x 1e-12)", "1r/h (3r/h x 1e-12)", "",
		}},
		{2, []string{
			"20r/s (10r/s x 2)", "200r/m (100r/m x 2)", "4r/h (2r/h x 2)", "100000000r/s (100000000r/s x 2)",
			"14r/m (7r/m x 2)", "1.92r/m (1r/m x 2)", "20r/s (10r/s x 2)", "6r/h (3r/h x 2)", "",
		}},
	} {
		scaled := ruleset.Scale(h, c.factor)
		if diff := cmp.Diff(c.want, texts(scaled)); diff != "" {
			t.Errorf("x %v (-want +got):\n%s", c.factor, diff)
		}
		if _, err := ruleset.New(scaled); err != nil {
			t.Errorf("x %v: %v", c.factor, err)
		}
	}
	if diff := cmp.Diff(same, texts(h)); diff != "" {
		t.Errorf("the original (-want +got):\n%s", diff)
	}
}

// Whatever the factor, the rates can be kept.
func TestScaleIsValid(t *testing.T) {
	h := section(t, scaleFile)
	rapid.Check(t, func(t *rapid.T) {
		factor := rapid.OneOf(rapid.Float64(), rapid.Float64Range(0.01, 10)).Draw(t, "factor")
		if _, err := ruleset.New(ruleset.Scale(h, factor)); err != nil {
			t.Fatal(err)
		}
	})
}

// What machines share can be counted at whatever rate it is scaled to, and is as near to that as then can be.
func TestScaleOfWhatIsShared(t *testing.T) {
	for _, c := range []struct {
		rate  config.Quota
		burst uint64
		text  string // in force, by 0.73337
	}{
		{config.Quota{Count: 100, Per: time.Hour, Text: "100r/h"}, 20, "73.337r/h (100r/h x 0.7334)"},
		{config.Quota{Count: 100, Per: time.Hour, Text: "100r/h"}, 5_000, "73.34r/h (100r/h x 0.7334)"},
		{config.Quota{Count: 1000, Per: time.Hour, Text: "1000r/h"}, 100_000, "733.4r/h (1000r/h x 0.7334)"},
		{config.Quota{Count: 10, Per: time.Second, Text: "10r/s"}, 1_000_000, "7.334r/s (10r/s x 0.7334)"},
	} {
		h := config.HTTP{
			Zones: []config.Zone{{Name: "z", Algorithm: config.Leaky, Store: config.StoreRedis, Quota: c.rate}},
			Rules: []config.Rule{{Limits: []config.Use{{Burst: c.burst}}}},
		}
		q := ruleset.Scale(h, 0.73337).Zones[0].Quota
		if err := bounds.Leaky(q.Count, q.Per, c.burst); err != nil {
			t.Errorf("%s with a burst of %d: %v", c.rate.Text, c.burst, err)
		}
		if q.Text != c.text {
			t.Errorf("%s with a burst of %d: %s, want %s", c.rate.Text, c.burst, q.Text, c.text)
		}
	}
}
