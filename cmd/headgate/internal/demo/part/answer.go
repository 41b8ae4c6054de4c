package part

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// wrongWith returns what is wrong with an answer of the proxy: a passed request or a refusal, which must say
// what the client may send and when.
func wrongWith(status int, h http.Header, l Limit) []string {
	w := wrongs{header: h}
	w.expect("RateLimit-Policy", fmt.Sprintf("%q;q=%d;w=%d", l.Zone, l.Quota, l.Window))
	name, left, more := w.state()
	if name != l.Zone {
		w.add("RateLimit is of %q, want %q", name, l.Zone)
	}
	switch status {
	case http.StatusOK:
		if left < 0 || left >= l.Quota {
			w.add("RateLimit leaves %d after a request, want 0 to %d", left, l.Quota-1)
		}
	case http.StatusTooManyRequests:
		w.refusal(left, more, l)
	default:
		w.add("status %d, want 200 or 429", status)
	}
	return w.all
}

// wrongs collects what is wrong.
type wrongs struct {
	header http.Header
	all    []string
}

func (w *wrongs) add(format string, args ...any) { w.all = append(w.all, fmt.Sprintf(format, args...)) }

func (w *wrongs) expect(name, want string) {
	if got := w.header.Get(name); got != want {
		w.add("%s is %q, want %q", name, got, want)
	}
}

// refusal checks what a refusal has to say beside: nothing is left, and who waits for Retry-After is not early.
func (w *wrongs) refusal(left, more int, l Limit) {
	after, err := strconv.Atoi(w.header.Get("Retry-After"))
	if err != nil || after < 1 || after > l.Window {
		w.add("Retry-After is %q, want 1 to %d", w.header.Get("Retry-After"), l.Window)
	}
	if left != 0 || more < 1 || more > after {
		w.add("RateLimit is %q, want r=0 and t from 1 to Retry-After", w.header.Get("RateLimit"))
	}
	w.expect("Cache-Control", "no-store")
	w.expect("Content-Type", "application/problem+json")
}

// state reads the RateLimit field: a string with the parameters r and t, in any order.
func (w *wrongs) state() (name string, left, more int) {
	left, more = -1, -1
	field := w.header.Get("RateLimit")
	text, parameters, _ := strings.Cut(field, ";")
	name, err := strconv.Unquote(text)
	if err != nil {
		w.add("RateLimit is %q, want a string with parameters", field)
	}
	for p := range strings.SplitSeq(parameters, ";") {
		key, value, _ := strings.Cut(p, "=")
		n, err := strconv.Atoi(value)
		switch {
		case err != nil:
			w.add("RateLimit is %q, want integers", field)
		case key == "r":
			left = n
		case key == "t":
			more = n
		}
	}
	return name, left, more
}
