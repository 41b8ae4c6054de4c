package httplimit

import (
	"net/http"
	"strconv"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/ruleset"
)

// unknownWindow is the window of a limiter that says nothing of one.
const unknownWindow time.Duration = -1

// Fields sets in h what the response to a request tells its client about d: the fields of o.Headers, unless
// the request passes and o.OnlyRejected leaves them out, and in a refusal Retry-After and Cache-Control. It is
// for fronts that are no http.Handler; the middleware sets the same. Draft10's lists are added to those that h has.
func Fields(h http.Header, d *ruleset.Decision, o Options) {
	if d.Allowed {
		if !o.OnlyRejected {
			setLimits(h, d, o.Headers)
		}
		return
	}
	h["Cache-Control"] = []string{"no-store"}
	if text, ok := retryAfter(d); ok {
		h["Retry-After"] = []string{text}
	}
	setLimits(h, d, o.Headers)
}

// setLimits sets the fields of a family; of draft10 for one that is not known.
func setLimits(h http.Header, d *ruleset.Decision, style config.HeaderStyle) {
	switch style {
	case config.HeadersPolli:
		setThree(h, d, three{"Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset"})
	case config.HeadersXRateLimit:
		setThree(h, d, three{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"})
	case config.HeadersXRate:
		setThree(h, d, three{"X-Rate-Limit-Limit", "X-Rate-Limit-Remaining", "X-Rate-Limit-Reset"})
	case config.HeadersOff:
	default:
		setDraft10(h, d)
	}
}

// retryAfter returns the value of the Retry-After field of a refusal, and false if no waiting helps.
func retryAfter(d *ruleset.Decision) (string, bool) {
	if d.RetryAfter == limit.Never {
		return "", false
	}
	return integer(retrySeconds(d)), true
}

func retrySeconds(d *ruleset.Decision) uint64 { return max(1, seconds(d.RetryAfter)) }

// seconds rounds d up, to 0 at least.
func seconds(d time.Duration) uint64 {
	if d <= 0 {
		return 0
	}
	return uint64((d-1)/time.Second) + 1
}

// mostInteger is the largest integer of a structured field (RFC 9651, section 3.3.1).
const mostInteger = 999_999_999_999_999

func integer(n uint64) string { return strconv.FormatUint(min(n, mostInteger), 10) }

func appendInteger(b []byte, n uint64) []byte { return strconv.AppendUint(b, min(n, mostInteger), 10) }
