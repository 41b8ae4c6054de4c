package httplimit

import (
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/headgate/headgate/userspace/config"
	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/ruleset"
)

// unknownWindow is the window of a limiter that says nothing of one.
const unknownWindow time.Duration = -1

// Response is what the response to a request tells its client about a decision: fields and, of a refusal, a body. It is for
// fronts that are no http.Handler; the middleware answers the same. The zero value is ready, and its memory is used again
// by whatever it is made next.
type Response struct {
	// Body is that of a refusal, empty of what passes.
	Body []byte

	// All values are in one text. Each as a string and a list of its own would be what a refusal costs most for.
	text  []byte
	names [mostFields]string // canonical
	ends  [mostFields]int    // of their values in text
	n     int

	detail []byte // what the body says to a person
}

// mostFields is how many there are: Cache-Control, Retry-After, two about the body and three about a limit.
const mostFields = 7

// Tell makes r the fields of o.Headers, unless the request passes and o.OnlyRejected leaves them out, and of a refusal also
// Retry-After and Cache-Control. It has no body, and nothing that is said of one. d is not kept.
func (r *Response) Tell(d *ruleset.Decision, o *Options) {
	r.clear()
	if !d.Allowed {
		r.refusal(d)
	} else if o.OnlyRejected {
		return
	}
	r.limits(d, o.Headers)
}

func (r *Response) clear() { r.Body, r.text, r.n = r.Body[:0], r.text[:0], 0 }

// Fields returns the names, canonical, and values of the fields, each name once. Values must not be kept.
func (r *Response) Fields() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		from := 0
		for i, name := range r.names[:r.n] {
			if !yield(name, r.text[from:r.ends[i]]) {
				return
			}
			from = r.ends[i]
		}
	}
}

// IsList reports whether a field is one of draft10, which are lists: there may be several values, as middleware further out has
// limits of its own.
func IsList(name string) bool { return name == draft10Policy || name == draft10State }

// refusal adds what a refusal tells beside the limits.
func (r *Response) refusal(d *ruleset.Decision) {
	r.text = append(r.text, "no-store"...)
	r.end("Cache-Control")
	if d.RetryAfter != limit.Never {
		r.text = appendInteger(r.text, retrySeconds(d))
		r.end("Retry-After")
	}
}

// limits adds the fields of a family; of draft10 for one that is not known.
func (r *Response) limits(d *ruleset.Decision, style config.HeaderStyle) {
	switch style {
	case config.HeadersPolli:
		r.three(d, three{"Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset"})
	case config.HeadersXRateLimit:
		r.three(d, three{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"})
	case config.HeadersXRate:
		r.three(d, three{"X-Rate-Limit-Limit", "X-Rate-Limit-Remaining", "X-Rate-Limit-Reset"})
	case config.HeadersOff:
	default:
		r.draft10(d)
	}
}

// end makes what was appended to the text since the last call the value of a field.
func (r *Response) end(name string) {
	r.names[r.n], r.ends[r.n] = name, len(r.text)
	r.n++
}

// SetIn sets the fields in h. Those of draft10 are added to what h has.
func (r *Response) SetIn(h http.Header) {
	if r.n == 0 {
		return
	}
	all, values, from := string(r.text), make([]string, r.n), 0
	for i, name := range r.names[:r.n] {
		values[i] = all[from:r.ends[i]]
		from = r.ends[i]
		if before := h[name]; len(before) > 0 && IsList(name) {
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
