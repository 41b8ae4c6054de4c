package nginx_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headgate/headgate/test/vectors"
	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit/nginx"
)

func limitersOf(tb testing.TB, c vectors.LimitReq) []*nginx.Limiter[string] {
	var limiters []*nginx.Limiter[string]
	for _, z := range c.Zones {
		limiters = append(limiters, newZone(tb, z.Rate, nginx.Options[string]{}).Limiter(z.Burst, z.Free()))
	}
	return limiters
}

// TestRecorded holds the package to what the real nginx did: each look-up's answer and excess, what
// became of each request, and how long it was delayed.
func TestRecorded(t *testing.T) {
	requests := 0
	for i, c := range vectors.LimitReqs(t) {
		limiters := limitersOf(t, c)
		for j, step := range c.Steps {
			requests++
			var uses []use
			for k, l := range limiters {
				uses = append(uses, use{l, step.Key(c.Zones[k])})
			}
			got := locate(uses, step.Now())
			want := outcome{step.Verdict, step.Delay(), step.Lookups}
			if c.DryRun && got.verdict != "" && got.verdict != "PASSED" {
				got.verdict += "_DRY_RUN"
			}
			if c.DryRun && want.delay == 0 {
				got.delay = 0 // nginx tells it nowhere
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{}), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("case %d, request %d at %d ms (-nginx +got):\n%s", i+1, j+1, step.T, diff)
			}
		}
	}
	if requests != 7085 {
		t.Errorf("%d requests, want all 7085", requests)
	}
}

// TestRecordedAll is the same for keyed.All.
func TestRecordedAll(t *testing.T) {
	for i, c := range vectors.LimitReqs(t) {
		limiters := limitersOf(t, c)
		for j, step := range c.Steps {
			var charges []keyed.Charge[string]
			for k, l := range limiters {
				if key := step.Key(c.Zones[k]); key != "" {
					charges = append(charges, keyed.Charge[string]{Limiter: l, Key: key, N: 1})
				}
			}
			allowed := keyed.All(charges, step.Now())
			delay := time.Duration(0)
			for _, c := range charges {
				delay = max(delay, c.Result.Delay)
			}
			verdict := verdictOf(len(charges), allowed, delay, c.DryRun)
			if verdict != step.Verdict || !c.DryRun && delay != step.Delay() {
				t.Fatalf("case %d, request %d at %d ms: %s, delayed %v; nginx: %s, delayed %v",
					i+1, j+1, step.T, verdict, delay, step.Verdict, step.Delay())
			}
		}
	}
}

func verdictOf(charges int, allowed bool, delay time.Duration, dryRun bool) string {
	verdict := "PASSED"
	switch {
	case charges == 0:
		return ""
	case !allowed:
		verdict = "REJECTED"
	case delay > 0:
		verdict = "DELAYED"
	}
	if dryRun && verdict != "PASSED" {
		verdict += "_DRY_RUN"
	}
	return verdict
}
