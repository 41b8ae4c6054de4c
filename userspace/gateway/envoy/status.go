package envoy

import (
	"math"
	"strconv"
	"strings"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/headgate/headgate/userspace/httplimit"
	"github.com/headgate/headgate/userspace/rate"
	"github.com/headgate/headgate/userspace/ruleset"
)

// appendStatus appends the status of a descriptor of question q; nil is one that nothing was asked about.
func appendStatus(b []byte, number protowire.Number, q *question) []byte {
	b, at := begin(b, number)
	code := ratelimitv3.RateLimitResponse_OK
	if q != nil && !q.decision.Allowed {
		code = ratelimitv3.RateLimitResponse_OVER_LIMIT
	}
	b = appendVarint(b, 1, uint64(code))
	if q != nil {
		b = appendLimit(b, httplimit.Strictest(q.decision))
	}
	return end(b, at)
}

// appendLimit appends what a status says of a limit; nil is none.
func appendLimit(b []byte, a *ruleset.Applied) []byte {
	if a == nil {
		return b
	}
	b = appendRate(b, 2, a)
	b = appendVarint(b, 3, min(a.Result.Remaining, math.MaxUint32))
	b, at := begin(b, 4)
	b = appendVarint(b, 1, uint64(a.Result.ResetAfter/time.Second))
	b = appendVarint(b, 2, uint64(a.Result.ResetAfter%time.Second))
	return end(b, at)
}

// leaves returns how much a request leaves; the most there is if no limit is asked about it.
func leaves(q *question) uint64 {
	if a := httplimit.Strictest(q.decision); a != nil {
		return a.Result.Remaining
	}
	return math.MaxUint64
}

// appendRate appends the rate of a limit; nothing if the protocol has no words for it, as for requests at a time.
func appendRate(b []byte, number protowire.Number, a *ruleset.Applied) []byte {
	count, per := quotaOf(a.Quota)
	unit := unitOf(per)
	if unit == ratelimitv3.RateLimitResponse_RateLimit_UNKNOWN || count > math.MaxUint32 {
		return b
	}
	b, at := begin(b, number)
	b = appendVarint(b, 1, count)
	b = appendVarint(b, 2, uint64(unit))
	b = appendString(b, 3, a.Zone)
	return end(b, at)
}

// quotaOf reads a quota that was read before; per is 0 for none. What most are written as, 10r/s, is not worth the exact
// arithmetic of package rate for each request.
func quotaOf(text string) (count uint64, per time.Duration) {
	for _, unit := range [...]struct {
		suffix string
		per    time.Duration
	}{{"r/s", time.Second}, {"r/m", time.Minute}, {"r/h", time.Hour}} {
		if number, has := strings.CutSuffix(text, unit.suffix); has {
			if n, err := strconv.ParseUint(number, 10, 64); err == nil {
				return n, unit.per
			}
		}
	}
	count, per, err := rate.ParseQuota(text)
	if err != nil {
		return 0, 0
	}
	return count, per
}

func unitOf(per time.Duration) ratelimitv3.RateLimitResponse_RateLimit_Unit {
	switch per {
	case time.Second:
		return ratelimitv3.RateLimitResponse_RateLimit_SECOND
	case time.Minute:
		return ratelimitv3.RateLimitResponse_RateLimit_MINUTE
	case time.Hour:
		return ratelimitv3.RateLimitResponse_RateLimit_HOUR
	}
	return ratelimitv3.RateLimitResponse_RateLimit_UNKNOWN
}
