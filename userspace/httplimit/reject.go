package httplimit

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/headgate/headgate/userspace/limit"
	"github.com/headgate/headgate/userspace/ruleset"
)

// problem is the body of a refusal, as an object of RFC 9457, but for the names of the limits. Types and titles are those of
// draft-ietf-httpapi-ratelimit-headers-10.
type problem struct {
	Type, Title string
	Status      int
	Detail      string
}

const problemTypes = "https://iana.org/assignments/http-problem-types#"

func problemOf(d *ruleset.Decision) problem {
	p := problem{
		Type:   problemTypes + "quota-exceeded",
		Title:  "Request cannot be satisfied as assigned quota has been exceeded",
		Status: d.Status,
		Detail: detail(d),
	}
	if d.Status >= 500 {
		p.Type = problemTypes + "temporary-reduced-capacity"
		p.Title = "Request cannot be satisfied due to temporary server capacity constraints"
	}
	return p
}

// violated appends to names those of the limits that refused, each once, in order.
func violated(d *ruleset.Decision, names []string) []string {
	for i := range d.Limits {
		a := &d.Limits[i]
		name := policyName(a.Zone)
		if !a.DryRun && !a.Result.Allowed && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// detail says what a person can do.
func detail(d *ruleset.Decision) string {
	var room [160]byte
	b := room[:0]
	if d.RetryAfter == limit.Never {
		b = strconv.AppendQuote(append(b, "The request is larger than limit "...), policyName(d.Zone))
		return string(append(b, " allows at once. Trying again does not help."...))
	}
	b = strconv.AppendQuote(append(b, "Limit "...), policyName(d.Zone))
	b = strconv.AppendUint(append(b, " is used up. Try again in "...), retrySeconds(d), 10)
	if retrySeconds(d) == 1 {
		return string(append(b, " second."...))
	}
	return string(append(b, " seconds."...))
}

// Answer returns what a refused request is answered with. It sets in h what Fields does and what is said of the body, but no
// Content-Length, and appends to dst a body in the media type
// that accept, the request's Accept field, likes best (several lines of it joined by commas). It is for fronts
// that are no http.Handler; the middleware answers the same, unless it has an o.Reject, which is not looked at here. d is not kept.
func Answer(h http.Header, dst []byte, d *ruleset.Decision, accept string, o Options) (status int, body []byte) {
	Fields(h, d, o)
	return d.Status, describe(h, d, accept, dst)
}

// describe appends the body of a refusal to dst, and sets in h what is said of a body.
func describe(h http.Header, d *ruleset.Decision, accept string, dst []byte) []byte {
	var names [4]string // mostly enough
	contentType, body := rejection(problemOf(d), violated(d, names[:0]), negotiate(accept), dst)
	values := []string{contentType, "nosniff"}
	h["Content-Type"], h["X-Content-Type-Options"] = values[:1:1], values[1:]
	return body
}

// rejecter answers refused requests in the media type that they ask for.
type rejecter struct{ bodies sync.Pool } // of *[]byte, since floods are of refusals

func (p *rejecter) reject(w http.ResponseWriter, r *http.Request, d *ruleset.Decision) {
	room, ok := p.bodies.Get().(*[]byte)
	if !ok {
		room = new(make([]byte, 0, 512))
	}
	defer p.bodies.Put(room)
	h := w.Header()
	body := describe(h, d, strings.Join(r.Header["Accept"], ","), (*room)[:0])
	*room = body
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(d.Status)
	if r.Method != http.MethodHead {
		// An error is that the client left, which is its own affair.
		_, _ = w.Write(body)
	}
}

// rejection appends a body to dst. What a machine is told, it is also told by whose limits.
func rejection(p problem, violated []string, t mediaType, dst []byte) (contentType string, body []byte) {
	switch t {
	case plainText:
		return "text/plain; charset=utf-8", fmt.Appendf(dst, "%s\n\n%s\n", heading(p), p.Detail)
	case htmlText:
		title, text := html.EscapeString(heading(p)), html.EscapeString(p.Detail)
		return "text/html; charset=utf-8", fmt.Appendf(dst,
			"<!doctype html>\n<html lang=\"en\">\n<title>%s</title>\n<h1>%s</h1>\n<p>%s</p>\n</html>\n", title, title, text)
	default:
		return "application/problem+json", p.appendJSON(dst, violated)
	}
}

// appendJSON appends p and its member violated-policies, also of the draft, as encoding/json writes it, with a line's end. A
// flood of refusals is when it counts that reflection is slow.
func (p *problem) appendJSON(b []byte, violated []string) []byte {
	b = append(append(b, `{"type":"`...), p.Type...) // neither this nor the title has what would have to be escaped
	b = append(append(b, `","title":"`...), p.Title...)
	b = strconv.AppendInt(append(b, `","status":`...), int64(p.Status), 10)
	b = appendText(append(b, `,"detail":`...), p.Detail)
	b = append(b, `,"violated-policies":[`...)
	for i, name := range violated {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, name)
	}
	return append(b, "]}\n"...)
}

// appendText appends a JSON string. Names in a configuration, and what is said of them, are printable ASCII.
func appendText(b []byte, text string) []byte {
	start, written := len(b), 0
	b = append(b, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"':
			b = append(append(b, text[written:i]...), '\\')
			written = i
		case c < ' ' || c > '~' || c == '\\' || c == '<' || c == '>' || c == '&':
			quoted, err := json.Marshal(text)
			if err != nil { // not of a string
				quoted = []byte(`""`)
			}
			return append(b[:start], quoted...)
		}
	}
	return append(append(b, text[written:]...), '"')
}

// heading returns the status as a text: 429 Too Many Requests.
func heading(p problem) string {
	text := http.StatusText(p.Status)
	if text == "" {
		text = p.Title
	}
	return fmt.Sprintf("%d %s", p.Status, text)
}
