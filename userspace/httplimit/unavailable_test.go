package httplimit

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/ruleset"
	"github.com/headgate/headgate/userspace/shared"
)

// deadStore does not answer.
type deadStore struct{ shared.Store }

func (deadStore) Take(string, []shared.Charge, time.Duration) (bool, error) {
	return false, errors.New("down")
}

// without returns the response to a second request under rules with a zone in memory and one in a store that does not answer.
func without(t *testing.T, fails config.OnStoreFailure, status, failStatus int, style config.HeaderStyle) *httptest.ResponseRecorder {
	t.Helper()
	file, err := config.Parse("headgate.yaml", []byte(`
redis: {addrs: "127.0.0.1:6379"}
http:
  zones: {perip: {key: ip, rate: 10r/m}, shared: {key: ip, rate: 1r/m, store: redis}}
  rules: [{limits: [{zone: perip, burst: 9, nodelay: true}, {zone: shared, burst: 9, nodelay: true}]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	rule := &file.HTTP.Rules[0]
	rule.OnStoreFailure, rule.Status, rule.FailStatus = fails, status, failStatus
	live, err := ruleset.NewLive(file.HTTP, ruleset.Fleet{Store: deadStore{}, Members: 10})
	if err != nil {
		t.Fatal(err)
	}
	serve := New(live, Options{Headers: style, Clock: func() time.Duration { return time.Hour }})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	var w *httptest.ResponseRecorder
	for range 2 {
		w = httptest.NewRecorder()
		serve.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	}
	return w
}

// TestClosedWithoutTheStore: who is refused because limits cannot be looked up is told so, in whatever status, and when to come again.
func TestClosedWithoutTheStore(t *testing.T) {
	for _, c := range []struct{ status, failStatus, want int }{{429, 503, 503}, {429, 0, 429}, {403, 0, 403}} {
		w := without(t, config.FailClosed, c.status, c.failStatus, config.HeadersDraft10)
		var got object
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		want := object{
			"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
			"Request cannot be satisfied due to temporary server capacity constraints", c.want,
			"Limits cannot be looked up at the moment, and this request is not let through without them. Try again in 1 second.", []string{},
		}
		if diff := cmp.Diff(want, got); diff != "" || w.Code != c.want || w.Header().Get("Retry-After") != "1" {
			t.Errorf("%d with Retry-After %q and %s", w.Code, w.Header().Get("Retry-After"), diff)
		}
	}
}

// TestFieldsOfLimitsThatAreNotKnown: fields are of limits that were asked only; a machine's part is one of them.
func TestFieldsOfLimitsThatAreNotKnown(t *testing.T) {
	for _, c := range []struct {
		fails         config.OnStoreFailure
		status        int
		policy, state string
		limit         string // of the older families
	}{
		{config.FailOpen, 200, `"perip";q=10;w=60`, `"perip";r=8;t=6`, "10"},
		{config.FailClosed, 503, `"perip";q=10;w=60`, `"perip";r=10;t=0`, ""},
		{config.FailLocal, 429, `"perip";q=10;w=60, "shared";q=1;w=600`, `"perip";r=9;t=6, "shared";r=0;t=600`, "1"},
	} {
		w := without(t, c.fails, 429, 503, config.HeadersDraft10)
		if got := w.Header(); w.Code != c.status || got.Get("Ratelimit-Policy") != c.policy || got.Get("Ratelimit") != c.state {
			t.Errorf("%s: %d, %q and %q; want %d, %q and %q", c.fails, w.Code, got.Get("Ratelimit-Policy"), got.Get("Ratelimit"), c.status, c.policy, c.state)
		}
		w = without(t, c.fails, 429, 503, config.HeadersPolli)
		if got := w.Header().Get("Ratelimit-Limit"); got != c.limit {
			t.Errorf("%s: Ratelimit-Limit %q, want %q", c.fails, got, c.limit)
		}
	}
}
