package envoy

import (
	"math"
	"strconv"
	"strings"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/headgate/headgate/userspace/httplimit"
	"github.com/headgate/headgate/userspace/rate"
	"github.com/headgate/headgate/userspace/ruleset"
)

// note sets the statuses of the descriptors of q.
func (a answer) note(q *question) {
	strictest := httplimit.Strictest(q.decision)
	for _, i := range q.of {
		s := a.Statuses[i]
		if !q.decision.Allowed {
			s.Code = ratelimitv3.RateLimitResponse_OVER_LIMIT
		}
		if strictest == nil {
			continue
		}
		s.CurrentLimit = limitOf(strictest)
		s.LimitRemaining = uint32(min(strictest.Result.Remaining, math.MaxUint32))
		s.DurationUntilReset = durationpb.New(strictest.Result.ResetAfter)
	}
}

// leaves returns how much a request leaves; the most there is if no limit is asked about it.
func leaves(q *question) uint64 {
	if a := httplimit.Strictest(q.decision); a != nil {
		return a.Result.Remaining
	}
	return math.MaxUint64
}

// limitOf returns the rate of a limit, and nil if the protocol has no words for it, as for requests at a time.
func limitOf(a *ruleset.Applied) *ratelimitv3.RateLimitResponse_RateLimit {
	count, per := quotaOf(a.Quota)
	unit := unitOf(per)
	if unit == ratelimitv3.RateLimitResponse_RateLimit_UNKNOWN || count > math.MaxUint32 {
		return nil
	}
	return &ratelimitv3.RateLimitResponse_RateLimit{Name: a.Zone, RequestsPerUnit: uint32(count), Unit: unit}
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
