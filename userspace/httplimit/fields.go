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
	if d.Allowed && o.OnlyRejected {
		return
	}
	var room [256]byte // for some limits, without allocation
	var f fields
	text := room[:0]
	if !d.Allowed {
		text = f.end("Cache-Control", append(text, "no-store"...))
		if d.RetryAfter != limit.Never {
			text = f.end("Retry-After", appendInteger(text, retrySeconds(d)))
		}
	}
	f.setIn(h, f.limits(text, d, o.Headers))
}

// limits adds the fields of a family to text; of draft10 for one that is not known.
func (f *fields) limits(text []byte, d *ruleset.Decision, style config.HeaderStyle) []byte {
	switch style {
	case config.HeadersPolli:
		return f.three(text, d, three{"Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset"})
	case config.HeadersXRateLimit:
		return f.three(text, d, three{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"})
	case config.HeadersXRate:
		return f.three(text, d, three{"X-Rate-Limit-Limit", "X-Rate-Limit-Remaining", "X-Rate-Limit-Reset"})
	case config.HeadersOff:
		return text
	default:
		return f.draft10(text, d)
	}
}

// fields are written into one text before they are set: values are views of it, and lists of one array. Each as a string and a
// list of its own would be what a refusal costs most for.
type fields struct {
	names [mostFields]string // canonical
	ends  [mostFields]int    // of their values in text
	n     int
}

// mostFields is how many there are: Cache-Control, Retry-After and three about a limit.
const mostFields = 5

// end makes what was appended to the text since the last call the value of a field. It returns text.
func (f *fields) end(name string, text []byte) []byte {
	f.names[f.n], f.ends[f.n] = name, len(text)
	f.n++
	return text
}

// setIn sets the fields of a text in h. Lists get one value more.
func (f *fields) setIn(h http.Header, text []byte) {
	if f.n == 0 {
		return
	}
	all, values, from := string(text), make([]string, f.n), 0
	for i, name := range f.names[:f.n] {
		values[i] = all[from:f.ends[i]]
		from = f.ends[i]
		if before := h[name]; len(before) > 0 && isList(name) {
			h[name] = append(before, values[i])
			continue
		}
		h[name] = values[i : i+1 : i+1] // who appends gets another array
	}
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

func appendInteger(b []byte, n uint64) []byte { return strconv.AppendUint(b, min(n, mostInteger), 10) }
