package nginx_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate/test/vectors"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/limit/nginx"
)

// use is a limit of a location, with the key of a request; empty for none.
type use struct {
	limiter *nginx.Limiter[string]
	key     string
}

// outcome is what a location does with a request.
type outcome struct {
	verdict string // $limit_req_status
	delay   time.Duration
	lookups []vectors.LimitReqLookup
}

// locate decides about a request as ngx_http_limit_req_handler does, in the way that keyed.All
// does, and notes each look-up. A zone without a key may be the last, as in nginx.
func locate(uses []use, now time.Duration) outcome {
	var o outcome
	asked := 0
	for i, u := range uses {
		if u.key == "" {
			continue
		}
		p := u.limiter.Place(u.key)
		last := i == len(uses)-1
		p.Last = last
		r := u.limiter.Ask(u.key, p, 1, now)
		asked++
		o.lookups = append(o.lookups, vectors.LimitReqLookup{Zone: i, RC: rc(r, last), Excess: int64(r.Excess)})
		if !r.Allowed {
			o.verdict = "REJECTED"
			return o
		}
	}
	if asked == 0 {
		return o
	}
	for i := len(uses) - 1; i >= 0; i-- {
		if u := uses[i]; u.key != "" {
			o.delay = max(o.delay, u.limiter.Charge(u.key, u.limiter.Place(u.key), 1, now).Delay)
		}
	}
	if o.verdict = "PASSED"; o.delay > 0 {
		o.verdict = "DELAYED"
	}
	return o
}

func rc(r limit.Result, last bool) int {
	switch {
	case !r.Allowed:
		return vectors.RCBusy
	case last:
		return vectors.RCOK
	}
	return vectors.RCAgain
}

func newZone(tb testing.TB, rate string, o nginx.Options[string]) *nginx.Zone[string] {
	tb.Helper()
	r, err := nginx.ParseRate(rate)
	if err != nil {
		tb.Fatal(err)
	}
	z, err := nginx.NewZone(r, o)
	if err != nil {
		tb.Fatal(err)
	}
	return z
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// withoutUndo returns what of r callers see.
func withoutUndo(r limit.Result) limit.Result { return r.WithUndo(0, 0) }
