package nginx_test

import (
	"testing"

	"github.com/headgate/headgate/userspace/limit/nginx"
)

// TestUpstream is what nginx's own tests of limit_req hold about the limiter, on a clock that need
// not be waited for.
func TestUpstream(t *testing.T) {
	type request struct {
		at      int64
		a, b    string
		verdict string
	}
	tests := []struct {
		name     string
		rates    [2]string
		burst    [2]uint64
		nodelay  bool
		requests []request
	}{
		{"limit_req.t: rejects are not counted", [2]string{"2r/s"}, [2]uint64{1}, true, []request{
			{0, "k", "", "PASSED"}, {0, "k", "", "PASSED"}, {0, "k", "", "REJECTED"},
			{0, "k", "", "REJECTED"}, {500, "k", "", "PASSED"}}},
		{"limit_req.t: negative excess", [2]string{"1000r/s"}, [2]uint64{1}, true, []request{
			{0, "k", "", "PASSED"}, {100, "k", "", "PASSED"}}},
		{"limit_req2.t", [2]string{"1r/m", "1000r/s"}, [2]uint64{}, false, []request{
			{0, "", "1", "PASSED"}, {100, "", "1", "PASSED"},
			{100, "1", "", "PASSED"}, {200, "1", "", "REJECTED"},
			{200, "2", "2", "PASSED"}, {300, "2", "2", "REJECTED"},
			{300, "", "", ""}, {300, "", "", ""}}},
		{"limit_req2.t: nodelay", [2]string{"1r/m", "1000r/s"}, [2]uint64{}, true, []request{
			{0, "", "3", "PASSED"}, {100, "", "3", "PASSED"},
			{100, "3", "", "PASSED"}, {200, "3", "", "REJECTED"},
			{200, "4", "4", "PASSED"}, {300, "4", "4", "REJECTED"}}},
		{"limit_req_dry_run.t: delayed, then too many", [2]string{"1r/m"}, [2]uint64{2}, false, []request{
			{0, "k", "", "PASSED"}, {0, "k", "", "DELAYED"}, {0, "k", "", "DELAYED"}, {0, "k", "", "REJECTED"}}},
		{"limit_conn_complex.t: keys of two parts", [2]string{"1r/m"}, [2]uint64{2}, false, []request{
			{0, "127.0.0.1x", "", "PASSED"}, {0, "127.0.0.1x", "", "DELAYED"}, {0, "127.0.0.1y", "", "PASSED"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var limiters []*nginx.Limiter[string]
			for i, rate := range test.rates {
				if rate == "" {
					continue
				}
				delay := uint64(0)
				if test.nodelay {
					delay = test.burst[i]
				}
				limiters = append(limiters, newZone(t, rate, nginx.Options[string]{}).Limiter(test.burst[i], delay))
			}
			for i, r := range test.requests {
				uses := []use{{limiters[0], r.a}}
				if len(limiters) > 1 {
					uses = append(uses, use{limiters[1], r.b})
				}
				if got := locate(uses, ms(boot+r.at)).verdict; got != r.verdict {
					t.Errorf("request %d: %q, want %q", i+1, got, r.verdict)
				}
			}
		})
	}
}

// TestUpstreamDelay is limit_req_delay.t: of a burst of 2 one goes on at once.
func TestUpstreamDelay(t *testing.T) {
	l := newZone(t, "30r/m", nginx.Options[string]{}).Limiter(2, 1)
	for i, want := range []int64{0, 0, 2000} {
		if r := l.Take("k", 1, ms(boot)); !r.Allowed || r.Delay != ms(want) {
			t.Errorf("request %d: %+v", i+1, r)
		}
	}
	if l.Take("k", 1, ms(boot)).Allowed {
		t.Error("the fourth was allowed")
	}
}
