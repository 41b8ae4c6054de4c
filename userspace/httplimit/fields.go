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

// fields is a family of header fields that tell clients their limits.
type fields interface {
	// set sets them in h for a request about which d was decided.
	set(h http.Header, d *ruleset.Decision)
}

// fieldsOf returns the family of that name, draft10 for one that is not known.
func fieldsOf(style config.HeaderStyle) fields {
	switch style {
	case config.HeadersPolli:
		return threeOf("RateLimit-")
	case config.HeadersXRateLimit:
		return threeOf("X-RateLimit-")
	case config.HeadersXRate:
		return threeOf("X-Rate-Limit-")
	case config.HeadersOff:
		return none{}
	default:
		return draft10{}
	}
}

type none struct{}

func (none) set(http.Header, *ruleset.Decision) {}

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
