package replay

import (
	"net/http"
	"strings"
	"time"

	"github.com/headgate/headgate/userspace/ruleset"
)

// Unknown is the Took of a request of which that is not recorded.
const Unknown time.Duration = -1

// Request is a recorded request. It is valid until the call that it is passed to returns.
type Request struct {
	ruleset.Request
	// Line is its line in the recording, from 1.
	Line uint64
	// At is when it came: the time since the instant that the recording counts from, which is 1970-01-01 UTC in
	// a Log.
	At time.Duration
	// Took is how long it was under way, Unknown if that is not recorded.
	Took time.Duration

	values []string // what the slices in Header are of
}

// mostFields bounds the memory of header fields that is kept for the next request: lines of a MiB have 100,000.
const mostFields = 64

// reset makes r an empty request, but for memory.
func (r *Request) reset() {
	header, values := r.Header, r.values
	if header == nil || len(header) > mostFields {
		header = make(http.Header)
	}
	if cap(values) > 2*mostFields {
		values = nil
	}
	clear(header)
	clear(values)
	*r = Request{Request: ruleset.Request{Header: header}, Took: Unknown, values: values[:0]}
}

// add adds a header field. name is canonical.
func (r *Request) add(name string, values ...string) {
	from := len(r.values)
	r.values = append(r.values, values...)
	r.Header[name] = r.values[from:len(r.values):len(r.values)]
}

// names remembers the canonical names of header fields.
type names map[string]string

// mostNames bounds names: a recording has a few, and one that has more is slower to read.
const mostNames = 1000

func (n names) canonical(name string) string {
	if canonical, ok := n[name]; ok {
		return canonical
	}
	canonical := http.CanonicalHeaderKey(name)
	if len(n) < mostNames && len(name) < mostNames {
		n[strings.Clone(name)] = strings.Clone(canonical)
	}
	return canonical
}
