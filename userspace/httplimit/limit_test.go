package httplimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/httplimit"
	"github.com/headgate/headgate/userspace/keyed"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/ruleset"
)

// A limiter by key of the program's own, and one whose requests have no key.
func TestLimit(t *testing.T) {
	perApp := keyed.New[string](mustWindow(t, 2, time.Minute), keyed.Options[string]{Name: "perapp"})
	app := func(r *http.Request) (string, bool) {
		id := r.Header.Get("Appid")
		return id, id != ""
	}
	s := serve(t, http1, httplimit.Limit(perApp, app, new(clock).options(options{}))(new(passing)))
	for _, step := range []struct {
		app    string
		status int
		state  string
	}{
		{"1", 200, `"perapp";r=1;t=60`}, {"1", 200, `"perapp";r=0;t=60`}, {"1", 429, `"perapp";r=0;t=60`},
		{"2", 200, `"perapp";r=1;t=60`}, {"", 200, ""}, {"", 200, ""}, {"", 200, ""},
	} {
		res := s.get("/", "Appid", step.app)
		if res.status != step.status {
			t.Errorf("status %d of app %q, want %d", res.status, step.app, step.status)
		}
		checkHeader(t, res, "RateLimit", step.state)
	}
	if c := perApp.Counters(); c.Keys != 2 || c.Allowed != 3 || c.Refused != 1 {
		t.Errorf("%+v", c)
	}
}

func mustWindow(t *testing.T, count uint64, per time.Duration) limit.Window {
	t.Helper()
	w, err := limit.NewWindow(count, per)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Of many clients at a time, each gets what is its own and no more.
func TestInParallel(t *testing.T) {
	for _, p := range protocols() {
		t.Run(string(p), func(t *testing.T) {
			h := one(19, perIP(1, time.Hour))
			h.ClientIP = config.ClientIP{Header: "X-Real-IP", TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
			var next passing
			s := serve(t, p, httplimit.New(rulesOf(t, h), new(clock).options(options{}))(&next))
			var all sync.WaitGroup
			for i := range 5 * 40 {
				all.Go(func() { s.get("/", "X-Real-IP", fmt.Sprintf("192.0.2.%d", i%5)) })
			}
			all.Wait()
			if got := next.n.Load(); got != 5*20 {
				t.Errorf("%d requests passed, want 100", got)
			}
		})
	}
}

// Two that share limits and name no clock share one.
func TestClockOfTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := rulesOf(t, one(0, config.Zone{Name: "z", Key: []config.KeyPart{{Kind: config.KeyConst}}, Quota: quota(1, 10*time.Second)}))
		first := newRecorded(set)
		time.Sleep(time.Hour)
		second := newRecorded(set)
		if got := []int{first(), second(), first(), second()}; fmt.Sprint(got) != "[200 429 429 429]" {
			t.Errorf("statuses %v", got)
		}
		time.Sleep(10 * time.Second)
		if got := []int{second(), first()}; fmt.Sprint(got) != "[200 429]" {
			t.Errorf("statuses %v after the wait", got)
		}
	})
}

// newRecorded returns what asks middleware over set, and returns the status.
func newRecorded(set *ruleset.Set) func() int {
	h := httplimit.New(set, options{})(new(passing))
	return func() int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		return w.Code
	}
}
