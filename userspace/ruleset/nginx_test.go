package ruleset_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/headgate/headgate/test/vectors"
	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/rate"
	"github.com/headgate/headgate/userspace/ruleset"
)

// TestRecordedFromNginx: rules of algorithm nginx do to each of the recorded requests what nginx did.
func TestRecordedFromNginx(t *testing.T) {
	requests := 0
	for n, c := range vectors.LimitReqs(t) {
		s := location(t, c)
		for i, step := range c.Steps {
			requests++
			r := get("/")
			r.RawQuery = url.Values{"a": {step.A}, "b": {step.B}}.Encode()
			d := s.Decide(r, step.Now())
			name := fmt.Sprintf("case %d, request %d: ", n+1, i+1)
			equal(t, name+"verdict", verdict(d), step.Verdict)
			equal(t, name+"delay", d.Delay, step.Delay())
			checkLookups(t, name, d, step.Lookups)
			d.Free(step.Now())
		}
	}
	equal(t, "requests", requests, 7085)
}

// checkLookups compares what the zones said. Of those in front of one that refuses Limits has
// what they say of no request.
func checkLookups(t *testing.T, name string, d *ruleset.Decision, lookups []vectors.LimitReqLookup) {
	t.Helper()
	for i, l := range lookups {
		a := d.Limits[i]
		equal(t, name+"zone", a.Zone, fmt.Sprint(l.Zone))
		equal(t, name+"refused", !a.Result.Allowed, l.RC == vectors.RCBusy)
		if last := lookups[len(lookups)-1]; last.RC != vectors.RCBusy || i == len(lookups)-1 {
			equal(t, name+"excess", int64(a.Result.Excess), l.Excess)
		}
	}
}

// location returns the rules of a recorded location.
func location(t *testing.T, c vectors.LimitReq) *ruleset.Set {
	t.Helper()
	h := config.HTTP{Rules: []config.Rule{{DryRun: c.DryRun}}}
	for i, z := range c.Zones {
		count, per, err := rate.ParseQuota(z.Rate)
		if err != nil {
			t.Fatal(err)
		}
		h.Zones = append(h.Zones, config.Zone{
			Name:      fmt.Sprint(i),
			Key:       []config.KeyPart{{Kind: config.KeyQuery, Name: z.Key}},
			Algorithm: config.Nginx,
			Quota:     config.Quota{Count: count, Per: per, Text: z.Rate},
		})
		h.Rules[0].Limits = append(h.Rules[0].Limits, config.Use{Zone: i, Burst: z.Burst, Delay: z.Free()})
	}
	s, err := ruleset.New(h)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// verdict returns what nginx's $limit_req_status is.
func verdict(d *ruleset.Decision) string {
	refused := !d.Allowed
	for i := range d.Limits {
		refused = refused || !d.Limits[i].Result.Allowed
	}
	switch {
	case len(d.Limits) == 0:
		return ""
	case refused && d.DryRun:
		return "REJECTED_DRY_RUN"
	case refused:
		return "REJECTED"
	case d.DryRun:
		return "DELAYED_DRY_RUN"
	case d.Delay > 0:
		return "DELAYED"
	}
	return "PASSED"
}
