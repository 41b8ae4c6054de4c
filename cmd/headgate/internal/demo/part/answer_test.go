package part

import (
	"net/http"
	"strings"
	"testing"
)

func limit() Limit { return Limit{Zone: "perip", Quota: 21, Window: 2} }

// refusal is a right one of limit, passes a right answer to a request that passed.
func refusal() http.Header {
	return http.Header{
		"Ratelimit-Policy": {`"perip";q=21;w=2`}, "Ratelimit": {`"perip";r=0;t=1`}, "Retry-After": {"1"},
		"Cache-Control": {"no-store"}, "Content-Type": {"application/problem+json"},
	}
}

func passes() http.Header {
	return http.Header{"Ratelimit-Policy": {`"perip";q=21;w=2`}, "Ratelimit": {`"perip";t=1;r=20`}}
}

func TestRightAnswers(t *testing.T) {
	if wrong := wrongWith(http.StatusTooManyRequests, refusal(), limit()); len(wrong) > 0 {
		t.Errorf("a right refusal: %q", wrong)
	}
	if wrong := wrongWith(http.StatusOK, passes(), limit()); len(wrong) > 0 {
		t.Errorf("a right answer: %q", wrong)
	}
}

func TestWrongAnswers(t *testing.T) {
	for _, tt := range []struct {
		status      int
		name, value string
		want        string
	}{
		{429, "Ratelimit-Policy", `"perip";q=20;w=2`, "RateLimit-Policy"},
		{429, "Ratelimit-Policy", "", "RateLimit-Policy"},
		{429, "Ratelimit", `"other";r=0;t=1`, `of "other"`},
		{429, "Ratelimit", `perip;r=0;t=1`, "want a string"},
		{429, "Ratelimit", `"perip";r=x;t=1`, "want integers"},
		{429, "Ratelimit", `"perip";r=1;t=1`, "want r=0"},
		{429, "Ratelimit", `"perip";r=0`, "want r=0 and t"},
		{429, "Ratelimit", `"perip";r=0;t=2`, "to Retry-After"},
		{429, "Ratelimit", ``, "RateLimit is"},
		{429, "Retry-After", "", "Retry-After"},
		{429, "Retry-After", "0", "Retry-After"},
		{429, "Retry-After", "3", "Retry-After"},
		{429, "Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT", "Retry-After"},
		{429, "Cache-Control", "", "Cache-Control"},
		{429, "Content-Type", "text/html", "Content-Type"},
		{200, "Ratelimit", `"perip";r=21;t=0`, "leaves 21"},
		{200, "Ratelimit", `"perip";t=0`, "leaves -1"},
		{502, "X", "", "status 502"},
	} {
		h := refusal()
		if tt.status == http.StatusOK {
			h = passes()
		}
		h.Set(tt.name, tt.value)
		if wrong := strings.Join(wrongWith(tt.status, h, limit()), "; "); !strings.Contains(wrong, tt.want) {
			t.Errorf("status %d, %s %q: %q, want %q", tt.status, tt.name, tt.value, wrong, tt.want)
		}
	}
}
